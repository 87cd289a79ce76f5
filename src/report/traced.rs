//! What a trace says: its loop, where a pass's time goes, and why copies were not hidden.

use super::explain::parts_of_critical_path;
use super::table::{Column, Table};
use super::words::{fine_percent, folded, often, percent, plural, signed_percent, times};
use crate::compare::Replay;
use crate::program::Program;
use crate::timeline::Timeline;
use crate::trace::{Account, CopySite, MemoryKind, Pass, Sent, Spelled, Trace, WorkKind};
use crate::units::{Bytes, Span};
use std::fmt::Write;

/// The share of the time from which on idleness is what to look at first.
const MUCH: f64 = 0.25;
/// The share of a time that a change has to gain to be one.
const GAINS: f64 = 0.02;
/// If kernels alone take so many times less than the copies to hide, they are what is missing.
const FEW_KERNELS: f64 = 2.0;

/// If one gap has this share of all idle time, it is the one to look at.
const ONE_GAP: f64 = 0.25;
/// How many times as long as simulated a pass may take as recorded before that needs a reason.
const FAR_LONGER: f64 = 1.5;

/// The most characters of a range's name.
const LONGEST_PLACE: usize = 60;

/// The most rows of the table of copies.
const MOST_SITES: usize = 12;

/// What was imported, in a few lines.
pub fn imported(trace: &Trace, pass: Option<&Pass>, spelled: &Spelled) -> String {
    let mut text = head(trace);
    if let Some(pass) = pass {
        text += &format!("{}\n", the_loop(pass));
    }
    let asked = spelled.asked.len() as u64;
    let _ = writeln!(
        text,
        "Imported: {} on the GPU, which took {} when recorded. Evaluation uses the profile's costs \
         for copies and calls.",
        plural(asked, "operation"),
        spelled.recorded
    );
    text
}

/// What a part of a trace does: the answer first, then copies by the place that makes them.
pub fn account(
    trace: &Trace,
    pass: Option<&Pass>,
    account: &Account,
    width: Option<usize>,
) -> String {
    let mut text = folded(&head(trace), width);
    if let Some(pass) = pass {
        text += &folded(&format!("{}\n", the_loop(pass)), width);
    }
    let what = match pass {
        Some(pass) => format!("Pass {}, the one with the median time, takes", pass.steady + 1),
        None => "The trace takes".to_owned(),
    };
    text += &folded(&format!("\n{what} {}{}", where_it_goes(account), idleness(account)), width);
    if !account.sites.is_empty() {
        text += "\n";
        text += &sites(&account.sites, trace.has_calls(), width);
        let copied: Span = account.sites.iter().map(|site| site.time).sum();
        let hidden: Span = account.sites.iter().map(|site| site.hidden).sum();
        let left = copied.saturating_sub(hidden);
        let open = match hidden {
            Span::ZERO => "none of it".to_owned(),
            _ => format!("{left} of it not"),
        };
        let said = format!(
            "\nIn total, copies between host and GPU take {copied}, {open} hidden behind \
             kernels.{}\n",
            at_most(account, left)
        );
        text += &folded(&said, width);
    }
    text += &folded(&sent_again(trace), width);
    if let Some(range) = &trace.origin.part {
        let said = format!(
            "\nOnly ranges named `{range}` were recorded. Between them, host and GPU appear idle.\n"
        );
        text += &folded(&said, width);
    }
    if !trace.has_calls() {
        text += &folded(WITHOUT_CALLS, width);
    }
    text += &folded(&races(trace), width);
    text + &folded(&defects(trace), width)
}

/// How much of what was sent to GPUs had been sent before.
fn sent_again(trace: &Trace) -> String {
    let Sent { copies, again, bytes_again } = trace.sent();
    match again {
        0 => String::new(),
        _ => format!(
            "\nOf the {} to the GPU in the whole trace, {again} sent bytes that had already been \
             sent ({bytes_again}).\n",
            plural(copies as u64, "copy")
        ),
    }
}

/// What is not known without the host's calls, and how to learn it.
const WITHOUT_CALLS: &str = "\nThe trace has no host calls, so it does not show what the host did \
                             or why copies were not hidden. Record the program again with its \
                             calls: `hallway record` without --device-only, and with no other \
                             profiler in the process.\n";

/// Waits that are missing, as far as the trace has addresses.
fn races(trace: &Trace) -> String {
    let mut text = String::new();
    for race in trace.races() {
        let [one, other] = race.pair.map(|work| trace.named(work));
        let (word, why) = match race.is_sure {
            true => ("Missing wait", "one of them writes to it"),
            false => (
                "Possibly a missing wait",
                "a race if the kernel writes, neither stream waits for the default stream, and no \
                 callback tells the host that one is done",
            ),
        };
        let _ = writeln!(
            text,
            "{word}: nothing orders the {one} and the {other}, which use the same memory: {why} \
             ({}).",
            often(race.times as u64)
        );
    }
    for early in trace.early_changes() {
        let word = if early.is_sure { "Missing wait" } else { "Possibly a missing wait" };
        let _ = writeln!(
            text,
            "{word}: the host changes the source of the {} before it has waited for the copy \
             ({}).",
            trace.named(early.copy),
            often(early.times as u64)
        );
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// What is known of the pageable copies of a trace.
#[derive(Debug, Clone, Copy)]
pub enum Pageable {
    /// Some go to memory that nobody had touched, or none does.
    Known { some_to_new: bool },
    /// Where they go is not known, but what they took.
    Took(Span),
}

/// What to change, as far as it was simulated: pinned memory on the machine of a profile.
pub fn pinned(gpu: &str, as_it_is: &Replay, pinned: &Replay, copies: Pageable) -> String {
    let [after, before] = [pinned, as_it_is].map(|one| one.simulated);
    let recorded = as_it_is.recorded;
    let gains = 1.0 - after.nanos_f64() / before.nanos_f64().max(1.0);
    let change = match gains {
        GAINS.. => format!(
            "Change: pin the host memory (`pin_memory()` and `non_blocking=True`, or \
             `cudaHostAlloc`). A pass would then take {after} instead of {before}"
        ),
        _ => format!("Pinned memory would not help: {after} instead of {before}"),
    };
    let longer = recorded.nanos_f64() / before.nanos_f64().max(1.0);
    // Only what these copies took can be due to them.
    let missing = recorded.saturating_sub(before);
    let may_be_new = matches!(copies, Pageable::Took(time) if time * 2 > missing);
    let rest = match longer {
        FAR_LONGER.. if may_be_new => format!(
            " The recording took {recorded}, {} times as long: copies to new memory, whose pages \
             have not been touched yet, are that slow. Reuse the same memory instead.",
            times(longer)
        ),
        _ => format!(" The recording took {recorded}."),
    };
    let memory = match copies {
        Pageable::Took(_) => "with memory that has been used before, and ",
        Pageable::Known { some_to_new: true } => {
            "the change with reused rather than new memory, and both "
        }
        Pageable::Known { some_to_new: false } => "",
    };
    format!(
        "\n{change}; both were simulated with the {gpu} profile, {memory}without the one-time cost \
         of pinning.{rest}\n"
    )
}

/// Where other changes can be tried.
pub const OTHER_CHANGES: &str = "\n`hallway advise` predicts how much other changes would save; \
                                 `hallway import` turns the trace into a scenario that you can \
                                 edit and evaluate.\n";

/// What the critical path of a part consists of, as it was simulated.
pub fn critical_path(program: &Program, timeline: &Timeline) -> String {
    format!(
        "\nCritical path, simulated ({}): {}.\n",
        timeline.makespan,
        parts_of_critical_path(program, timeline)
    )
}

/// What a simulator made of it, beside what was recorded.
pub fn replayed(replay: &Replay) -> String {
    let Replay { recorded, simulated, .. } = replay;
    let starts = replay.starts.map_or_else(String::new, |off| {
        format!(
            "; half of all operations start within {} (of the trace's length) of their recorded \
             times",
            fine_percent(off)
        )
    });
    format!(
        "\nCheck: the whole trace, simulated from its calls, the host's time between them and one \
         time per kind of kernel, takes {simulated}; the recording took {recorded} ({}){starts}.\n",
        signed_percent(replay.error())
    )
}

/// Where a trace comes from and how much is in it.
fn head(trace: &Trace) -> String {
    let count = |wanted: fn(&WorkKind) -> bool| {
        trace.work.iter().filter(|work| wanted(&work.kind)).count() as u64
    };
    let kernels = plural(count(|kind| matches!(kind, WorkKind::Kernel { .. })), "kernel");
    let copies = plural(count(|kind| matches!(kind, WorkKind::Copy { .. })), "copy");
    let gpus: Vec<&str> = trace.gpus.iter().filter_map(|gpu| gpu.name.as_deref()).collect();
    let on = match gpus.first() {
        Some(name) if gpus.len() == 1 => format!(" on {name}"),
        Some(name) => format!(" on {} GPUs (the first: {name})", gpus.len()),
        None => String::new(),
    };
    format!(
        "{}: {}, {kernels} and {copies} in {}{on}\n",
        trace.origin,
        plural(trace.calls.len() as u64, "call"),
        trace.end().since_start()
    )
}

fn the_loop(pass: &Pass) -> String {
    let others = match pass.others {
        0 => String::new(),
        others => format!("; {} in between differ", plural(others as u64, "pass")),
    };
    format!("Loop: {} with the same calls{others}", plural(pass.turns.len() as u64, "pass"))
}

/// How much of the copies can be hidden at most, if that is not all that is left.
fn at_most(of: &Account, left: Span) -> String {
    let alone = of.kernels.saturating_sub(of.both);
    if of.kernels == Span::ZERO || alone.nanos_f64() * FEW_KERNELS > left.nanos_f64() {
        return String::new();
    }
    if alone == Span::ZERO {
        return " All kernels already overlap copies, so no more can be hidden.".to_owned();
    }
    format!(
        " Kernels run for only {alone} without a concurrent copy, so at most that much more can be \
         hidden."
    )
}

/// How a time divides.
fn where_it_goes(of: &Account) -> String {
    let only_copies = of.copies.saturating_sub(of.both);
    let only_kernels = of.kernels.saturating_sub(of.both);
    let part = |span: Span| format!("{span} ({})", percent(share(span, of.span)));
    let mut parts = vec![
        (only_kernels, format!("kernels alone for {}", part(only_kernels))),
        (only_copies, format!("copies alone for {}", part(only_copies))),
        (of.both, format!("both at once for {}", part(of.both))),
        (of.idle, format!("GPU idle for {}", part(of.idle))),
    ];
    parts.retain(|(span, _)| *span > Span::ZERO);
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let parts: Vec<String> = parts.into_iter().map(|part| part.1).collect();
    format!("{}: {}.\n", of.span, parts.join("; "))
}

/// What the host did while no GPU did anything, where that is much of the time.
fn idleness(of: &Account) -> String {
    let gaps = &of.gaps;
    let is_much = share(gaps.all, of.span) > MUCH;
    let Some(gap) = gaps.longest.as_ref().filter(|_| is_much) else { return String::new() };
    let length = gap.length;
    if share(length, gaps.all) < ONE_GAP {
        return format!(
            "The GPU was idle {} times, for a median of {} and at most {length}: the host spent \
             {} of the idle time in CUDA calls, and the rest outside them.\n",
            gaps.count,
            gaps.middle,
            percent(share(gaps.in_calls, gaps.all))
        );
    }
    let host = match &gap.in_call {
        Some((name, time)) => format!("spent {time} of it in `{name}`"),
        None => "was mostly outside CUDA calls".to_owned(),
    };
    format!(
        "The GPU's longest idle time is {length}; the host {host}: no change to the copies would \
         save that.\n"
    )
}

fn sites(sites: &[CopySite], has_reasons: bool, width: Option<usize>) -> String {
    let shown = &sites[..sites.len().min(MOST_SITES)];
    let what = |site: &CopySite| {
        let size = match site.bytes {
            Some(bytes) => format!(" of {bytes}"),
            None => String::new(),
        };
        let memory = match site.memory {
            MemoryKind::Unknown => "unknown memory".to_owned(),
            known => known.to_string(),
        };
        format!("{} x {} {memory}{size}", site.copies, site.direction)
    };
    let place = |site: &CopySite| {
        let name = site.range.as_deref().unwrap_or("-");
        name.chars().take(LONGEST_PLACE).collect::<String>()
    };
    let rate = |site: &CopySite| rate(site.all_bytes, site.time);
    let reason = |site: &CopySite| {
        let few = match site.exposed {
            few if few * 2 <= site.copies => format!(" (mostly {few} of {})", site.copies),
            _ => String::new(),
        };
        site.reason.map_or("-".to_owned(), |reason| format!("{}{few}", reason.name()))
    };
    let has_ranges = shown.iter().any(|site| site.range.is_some());
    let mut table = Table::of(shown)
        .with(Column::words("copies"), what)
        .with(Column::number("take"), |site| site.time)
        .with(Column::number("rate").if_room(1), rate)
        .with(Column::number("hidden"), |site| percent(share(site.hidden, site.time)));
    if has_ranges {
        table = table.with(Column::words("in").if_folded(1), place);
    }
    if has_reasons {
        table = table.with(Column::words("why not hidden"), reason);
    }
    let text = table.text(width);
    match sites.len() - shown.len() {
        0 => text,
        rest => {
            format!(
                "{text}{} not shown, each with less time left to hide\n",
                plural(rest as u64, "row")
            )
        }
    }
}

fn rate(bytes: Bytes, time: Span) -> String {
    match time {
        Span::ZERO => "-".to_owned(),
        _ => format!("{:.3} GB/s", bytes.as_f64() / time.nanos_f64()),
    }
}

fn share(part: Span, whole: Span) -> f64 {
    if whole == Span::ZERO { 0.0 } else { part.nanos_f64() / whole.nanos_f64() }
}

/// What was wrong with the file.
fn defects(trace: &Trace) -> String {
    let found = trace.defects.iter().map(|(defect, count)| match count {
        1 => format!("1 event {defect}"),
        count => format!("{count} events, each of which {defect}"),
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        String::new()
    } else {
        format!("Problems in the file: {}.\n", found.join("; "))
    }
}
