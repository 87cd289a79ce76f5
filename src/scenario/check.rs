//! From the scenario as written to the checked workload, one rule a function.

use super::error::{Fault, ScenarioError, unknown};
use super::graph;
use super::raw::{self, HostState, RawBuffer, RawHome, RawLimits, RawPlans};
use super::task::Scope;
use super::{Buffer, Home, HostMemory, Limits, PlanChoice, Workload};
use crate::files;
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// Plan families that a scenario may name.
const FAMILIES: [&str; 8] =
    ["cpu", "round-trip", "resident", "by-chunk", "by-engine", "buffered", "multi-gpu", "graph"];

/// No count is larger, so that times multiplied by counts stay within 64 bits.
const LARGEST_COUNT: i64 = 1_000_000;

/// Bytes of a scenario: thousands of tasks.
const LARGEST: u64 = 4 << 20;
/// Names stand in tables, plots and file names.
const LONGEST_NAME: usize = 64;

impl Workload {
    /// Reads a scenario; `file_name` is what errors call it.
    pub fn from_toml(file_name: &str, text: &str) -> Result<Self, ScenarioError> {
        raw::read(text).and_then(check).map_err(|fault| fault.in_file(file_name, text))
    }

    /// Reads the scenario in a file.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = files::read(path, LARGEST)
            .map_err(|cause| ScenarioError::Unreadable { path: path.to_owned(), cause })?;
        Self::from_toml(&path.display().to_string(), &text)
    }
}

fn check(raw: raw::RawScenario) -> Result<Workload, Fault> {
    name(&raw.name)?;
    let batches = count("`batches`", raw.batches.as_ref())?.unwrap_or(1);
    let runs = count("`runs`", raw.runs.as_ref())?.unwrap_or(100);
    let ids = unique_names("buffer", raw.buffers.iter().map(|buffer| &buffer.name))?;
    let buffers = raw.buffers.iter().map(buffer).collect::<Result<Vec<_>, _>>()?;
    total_size(&raw.buffers, &buffers, batches)?;
    unique_names("task", raw.tasks.iter().map(|task| &task.name))?;
    let scope = Scope { raw_buffers: &raw.buffers, buffers: &buffers, ids: &ids };
    let tasks = raw.tasks.iter().map(|raw| scope.task(raw)).collect::<Result<Vec<_>, _>>()?;
    if tasks.is_empty() {
        return Err(Fault::new(
            format!("the scenario `{}` has no task", raw.name),
            raw.name.span(),
            "computes nothing",
            "add a `[[task]]` table with `name`, `kernel`, `reads` and `writes`",
        ));
    }
    graph::check_flow(&raw, &buffers, &tasks)?;
    let workload = Workload {
        tasks: graph::in_order(&tasks, &raw)?,
        limits: limits(&raw.limits)?,
        plans: plans(&raw.plans)?,
        name: raw.name.get_ref().clone(),
        question: raw.question.clone(),
        batches,
        runs,
        buffers,
    };
    calls(&raw, &workload).map(|()| workload)
}

fn name(name: &Spanned<String>) -> Result<(), Fault> {
    let text = name.get_ref();
    let visible = !text.trim().is_empty() && !text.contains(char::is_control);
    // The name becomes part of file names.
    let plain = !text.contains(['/', '\\']) && !text.starts_with('.');
    if visible && plain && text.chars().count() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Fault::new(
        "`name` is empty, long, not a single line of text, or a path",
        name.span(),
        "not a name",
        format!(
            "write 1 to {LONGEST_NAME} visible characters and no slash, such as \"image-batches\""
        ),
    ))
}

/// Checks names and says at which place in the file each stands.
fn unique_names<'a>(
    kind: &str,
    names: impl Iterator<Item = &'a Spanned<String>>,
) -> Result<BTreeMap<&'a Spanned<String>, usize>, Fault> {
    let mut places: BTreeMap<&Spanned<String>, usize> = BTreeMap::new();
    for (place, spanned) in names.enumerate() {
        name(spanned)?;
        if let Some((first, _)) = places.get_key_value(spanned) {
            let message = format!("two {kind}s have the `name` `{spanned}`");
            let help = format!("give each {kind} a name of its own");
            return Err(Fault::new(message, spanned.span(), "named again here", help)
                .and(first.span(), "first named here"));
        }
        places.insert(spanned, place);
    }
    Ok(places)
}

/// A whole number from one up.
fn positive(what: &str, value: &Spanned<i64>) -> Result<u64, Fault> {
    u64::try_from(*value.get_ref()).ok().filter(|&value| value > 0).ok_or_else(|| {
        Fault::new(
            format!("{what} is {value}, and must be at least 1"),
            value.span(),
            "too small",
            "write a whole number of 1 or more",
        )
    })
}

/// A number of times or pieces, where one is given.
pub(super) fn count(what: &str, value: Option<&Spanned<i64>>) -> Result<Option<u64>, Fault> {
    let Some(value) = value else { return Ok(None) };
    if *value.get_ref() > LARGEST_COUNT {
        return Err(Fault::new(
            format!("{what} is {value}, and must be at most {LARGEST_COUNT}"),
            value.span(),
            "too large",
            format!("write a whole number from 1 to {LARGEST_COUNT}"),
        ));
    }
    positive(what, value).map(Some)
}

fn buffer(raw: &RawBuffer) -> Result<Buffer, Fault> {
    let elements = positive(&format!("`elements` of buffer `{}`", raw.name), &raw.elements)?;
    if let (Some(host), RawHome::Device | RawHome::Scratch) = (&raw.host, raw.home) {
        return Err(Fault::new(
            format!("buffer `{}` has the key `host`, but its home is not the host", raw.name),
            host.span(),
            "describes host memory",
            "remove `host`, or set `home = \"host\"`",
        ));
    }
    let host = raw.host.as_ref().map(Spanned::get_ref);
    let memory = host.and_then(|host| host.memory).unwrap_or(HostMemory::Pageable);
    Ok(Buffer {
        name: raw.name.get_ref().clone(),
        elements,
        home: match raw.home {
            RawHome::Host => Home::Host(memory),
            RawHome::Device => Home::Device,
            RawHome::Scratch => Home::Scratch,
        },
        fresh: host.is_some_and(|host| host.state == Some(HostState::Fresh)),
    })
}

/// All batches of all buffers are counted in signed 64-bit bytes, here and in CUDA.
fn total_size(raw: &[RawBuffer], buffers: &[Buffer], batches: u64) -> Result<(), Fault> {
    let mut room = i64::MAX as u64;
    for (raw, buffer) in raw.iter().zip(buffers) {
        let size = buffer.elements.checked_mul(4).and_then(|bytes| bytes.checked_mul(batches));
        room = size.and_then(|size| room.checked_sub(size)).ok_or_else(|| {
            Fault::new(
                format!(
                    "with the `elements` of buffer `{}`, all batches of all buffers together \
                     are larger than any memory",
                    buffer.name
                ),
                raw.elements.span(),
                format!("x 4 bytes x {batches} batches"),
                "use fewer `elements` or fewer `batches`",
            )
        })?;
    }
    Ok(())
}

/// Plans are small enough to be gone through, at least those of whole batches and of as many
/// chunks as the scenario names.
fn calls(raw: &raw::RawScenario, workload: &Workload) -> Result<(), Fault> {
    const MOST: u64 = Workload::MOST_CALLS;
    let too_many = |span, chunks: u64| {
        let calls = workload.calls(chunks);
        let help = format!(
            "use fewer `iterations`, `batches` or `chunks`: multiplied they may come to {MOST} \
             calls, with 3 around the launches of each piece; more of the same say no more"
        );
        let message = format!("a plan would make {calls} calls, too many to go through");
        Fault::new(message, span, "too many", help)
    };
    if workload.calls(1) > MOST {
        let keys = raw.tasks.iter().filter_map(|task| task.iterations.as_ref());
        let most = keys.chain(&raw.batches).max_by_key(|count| *count.get_ref());
        return Err(too_many(most.map_or(raw.name.span(), Spanned::span), 1));
    }
    for raw in &raw.plans.chunks {
        let chunks = count("a number of `chunks`", Some(raw))?.unwrap_or(1);
        if workload.calls(chunks) > MOST {
            return Err(too_many(raw.span(), chunks));
        }
    }
    Ok(())
}

fn limits(raw: &RawLimits) -> Result<Limits, Fault> {
    let threads = count("`cpu_threads`", raw.cpu_threads.as_ref())?;
    Ok(Limits {
        device_memory: memory("device_memory", raw.device_memory.as_ref())?,
        pinned_memory: memory("pinned_memory", raw.pinned_memory.as_ref())?,
        cpu_threads: threads.and_then(|threads| usize::try_from(threads).ok()),
    })
}

fn memory(key: &str, text: Option<&Spanned<String>>) -> Result<Option<Bytes>, Fault> {
    let Some(text) = text else { return Ok(None) };
    text.get_ref().parse().map(Some).map_err(|error| {
        Fault::new(
            format!("`{key}`: {error}"),
            text.span(),
            "not an amount of memory",
            "write a number and one of the units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
        )
    })
}

fn plans(raw: &RawPlans) -> Result<PlanChoice, Fault> {
    let known = |name: &&Spanned<String>| FAMILIES.contains(&name.get_ref().as_str());
    if let Some(name) = raw.families.iter().find(|name| !known(name)) {
        return Err(unknown("family", name.get_ref(), name.span(), &FAMILIES));
    }
    let chunks = raw.chunks.iter().map(|chunks| count("a number of `chunks`", Some(chunks)));
    Ok(PlanChoice {
        families: raw.families.iter().map(|name| name.get_ref().clone()).collect(),
        chunks: chunks.filter_map(Result::transpose).collect::<Result<_, _>>()?,
    })
}
