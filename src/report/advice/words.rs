//! What a change is, what it takes, and why a remedy does not help, in words.

use crate::advise::{Advice, Breakdown, Change, NoGain, Place, Remedy, Takes};
use crate::report::words::{fine_percent, joined, longer, percent, plural, times};
use crate::units::{Bytes, Span};

/// Memories that a title names.
const NAMED: usize = 2;

/// What is changed, in a few words: "pin `x` (64 MiB)".
pub(super) fn what(change: &Change) -> String {
    let is_whole = matches!(change.remedy, Remedy::Pin | Remedy::Gather);
    let memory = named(&change.places, is_whole);
    let calls: u64 = change.places.iter().map(|place| place.times).sum();
    match change.remedy {
        Remedy::Pin => format!("pin {memory}"),
        Remedy::DeferWaits => format!("defer or drop {}", plural(calls, "wait")),
        Remedy::KeepMemory => format!("reuse {memory} in every pass"),
        Remedy::DropCopies => format!("drop the copy to {memory}"),
        Remedy::CopyOnce if calls > 1 => {
            format!("make the {calls} copies to {memory} once, not in every pass")
        }
        Remedy::CopyOnce => format!("copy to {memory} once, not in every pass"),
        Remedy::Narrow => format!("copy only the used bytes of {memory}"),
        Remedy::Gather => {
            format!("combine {} to {memory} into one at the end", plural(calls, "copy"))
        }
        Remedy::Stage => format!("stage {memory} through pinned buffers instead of pinning"),
        Remedy::InPlace => format!("access {memory} in place, without a copy"),
        Remedy::PrefetchManaged => format!("prefetch the pages of {memory}"),
        Remedy::Pack => format!("pack {} to {memory} into one", plural(calls, "copy")),
        Remedy::Prefetch => format!("prefetch {memory} in a second stream"),
        Remedy::DownloadStream => format!("download {memory} in a separate stream"),
        Remedy::Chunks => format!("split the copies of {memory} and their kernels into chunks"),
        Remedy::MoreStreams => format!("spread {} over several streams", plural(calls, "call")),
        Remedy::Graph => format!("launch {} as a graph", plural(calls, "call")),
        Remedy::Cpu => "leave the work to the CPU".to_owned(),
        Remedy::Share => "share the work between CPU and GPU".to_owned(),
        Remedy::SeveralGpus => "use several GPUs".to_owned(),
        Remedy::Schedule => "schedule the tasks over streams (`by-task`)".to_owned(),
    }
}

/// What a remedy does, where its memory is named elsewhere.
pub(super) const fn brief(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Pin => "pin",
        Remedy::DeferWaits => "defer waits",
        Remedy::KeepMemory => "reuse memory",
        Remedy::DropCopies => "drop copies",
        Remedy::CopyOnce => "copy once",
        Remedy::Narrow => "copy only the used bytes",
        Remedy::Gather => "combine results",
        Remedy::Stage => "stage",
        Remedy::InPlace => "access in place",
        Remedy::PrefetchManaged => "prefetch pages",
        Remedy::Pack => "pack",
        Remedy::Prefetch => "prefetch",
        Remedy::DownloadStream => "download in a separate stream",
        Remedy::Chunks => "split into chunks",
        Remedy::MoreStreams => "use more streams",
        Remedy::Graph => "launch as a graph",
        Remedy::Cpu => "leave to the CPU",
        Remedy::Share => "share with the CPU",
        Remedy::SeveralGpus => "use several GPUs",
        Remedy::Schedule => "schedule by task",
    }
}

/// What is assumed of kernels that do not say which part of the GPU they need, where it matters.
pub(super) fn filling(advice: &Advice) -> Option<String> {
    let is_it = |remedy| remedy == Remedy::MoreStreams;
    let gains = advice.changes.iter().chain(&advice.only_if).any(|one| is_it(one.remedy));
    let applies = advice.no_gain.iter().any(|one| is_it(one.remedy) && one.refusal.is_none());
    let names = &advice.without_grid;
    let shown = joined(names.iter().take(NAMED).map(|name| format!("`{name}`")), ", ");
    let rest = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    ((gains || applies) && !names.is_empty()).then(|| {
        format!(
            "\nWithout a `grid`, a kernel is assumed to fill the GPU, so nothing runs alongside \
             it: {shown}{rest}.\n"
        )
    })
}

/// The memory of some places: "`x` (64 MiB)", with the bytes of each call or of all the memory.
fn named(places: &[Place], all: bool) -> String {
    let mut found: Vec<(&str, Bytes)> = Vec::new();
    for place in places {
        let bytes = if all { place.memory_bytes } else { place.bytes };
        let (Some(name), Some(bytes)) = (place.memory.as_deref(), bytes) else { continue };
        match found.iter_mut().find(|one| one.0 == name) {
            Some(one) => one.1 = one.1.max(bytes),
            None => found.push((name, bytes)),
        }
    }
    let said = found.iter().take(NAMED).map(|(name, bytes)| format!("`{name}` ({bytes})"));
    let said = joined(said, ", ");
    match found.len().saturating_sub(NAMED) {
        0 => said,
        rest => format!("{said} and {rest} more"),
    }
}

/// `7.0 (6.8 to 7.2)`.
pub(super) fn factor(change: &Change) -> String {
    let [low, high] = change.factor_range;
    format!("{} ({} to {})", times(change.factor), times(low), times(high))
}

/// What a change takes, in a cell.
pub(super) fn taken(takes: &Takes) -> String {
    let parts = parts(takes);
    if parts.is_empty() { "nothing".to_owned() } else { joined(parts, ", ") }
}

/// What a change takes, with what that costs once.
pub(super) fn needs(takes: &Takes) -> String {
    let once = match (takes.once_ns, takes.pays_from_passes) {
        (Some(once), Some(passes)) if once > Span::ZERO => {
            format!("; costs {once} once, which pays off after {}", plural(passes, "pass"))
        }
        (None, _) => "; the one-time cost is unknown".to_owned(),
        _ => String::new(),
    };
    format!("{}{once}", taken(takes))
}

fn parts(takes: &Takes) -> Vec<String> {
    let mut parts = Vec::new();
    if takes.pinned_bytes > Bytes::ZERO {
        parts.push(format!("{} pinned", takes.pinned_bytes));
    }
    if takes.device_bytes > Bytes::ZERO {
        parts.push(format!("{} on the GPU", takes.device_bytes));
    }
    if takes.streams > 0 {
        parts.push(plural(takes.streams, "stream"));
    }
    parts
}

/// Why a remedy does not help a program that spends its time so.
pub(super) fn little(one: &NoGain, of: &Breakdown) -> String {
    if let Some(refusal) = one.refusal.filter(|_| !one.is_combined) {
        return refusal.to_string();
    }
    let Some(factor) = one.factor.filter(|_| !one.is_combined) else {
        return "helps only in the combination above".to_owned();
    };
    let gains = match factor {
        NOTHING.. => format!("gains {}", fine_percent(1.0 - 1.0 / factor)),
        LONGER.. => "gains nothing".to_owned(),
        _ => longer(1.0 / factor.max(1e-9)),
    };
    format!("{gains}: {}", cause(one.remedy, of))
}

/// A program that gets so many times as fast gains nothing to speak of.
const NOTHING: f64 = 1.0005;
/// A program that gets less fast than this takes longer.
const LONGER: f64 = 0.995;

/// What keeps a remedy from gaining more.
fn cause(remedy: Remedy, of: &Breakdown) -> String {
    let Breakdown { kernels_ns, copies_ns, both_ns, idle_ns } = *of;
    let (copies, kernels) = (copies_ns + both_ns, kernels_ns + both_ns);
    let all = kernels_ns + copies + idle_ns;
    let share = |part: Span| percent(part.nanos_f64() / all.nanos_f64().max(1.0));
    let is_idle = idle_ns.nanos_f64() > 0.5 * all.nanos_f64();
    match remedy {
        Remedy::Pin
        | Remedy::DropCopies
        | Remedy::CopyOnce
        | Remedy::Pack
        | Remedy::Narrow
        | Remedy::Stage
        | Remedy::InPlace
        | Remedy::PrefetchManaged => {
            format!("exposed copies take {} of the pass", share(copies_ns))
        }
        Remedy::Cpu | Remedy::Share | Remedy::SeveralGpus | Remedy::Schedule => {
            "`hallway evaluate --all` shows this plan beside the others".to_owned()
        }
        Remedy::Prefetch | Remedy::DownloadStream | Remedy::Chunks => match copies > kernels {
            true => format!("{kernels} of kernels cannot hide {copies} of copies"),
            false => format!("exposed copies take {} of the pass", share(copies_ns)),
        },
        Remedy::MoreStreams if !is_idle && kernels > copies => {
            "kernels that fill the GPU do not run side by side".to_owned()
        }
        Remedy::MoreStreams if !is_idle => "copies in one direction do not overlap".to_owned(),
        Remedy::DeferWaits
        | Remedy::KeepMemory
        | Remedy::MoreStreams
        | Remedy::Graph
        | Remedy::Gather => match is_idle {
            true => "the host's own work takes most of the pass".to_owned(),
            false => format!("the GPU is idle for {} of the pass", share(idle_ns)),
        },
    }
}
