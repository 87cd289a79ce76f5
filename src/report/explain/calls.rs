//! One call of a plan on one line, in the grammar in which scenarios spell programs out.

use crate::machine::Residence;
use crate::program::spelled::Names;
use crate::program::{Call, MemoryChange, Program, Sides, ThreadId};
use std::collections::BTreeMap;

/// Equal for calls that do the same to other pieces, in whichever stream.
pub(super) fn sort(program: &Program, call: &Call) -> String {
    let Sides { from, to, .. } = call.sides();
    let first = from.or(to).or(call.step().and_then(|step| step.reads().first()));
    let memory = call.allocation().or(first.map(|slice| slice.allocation));
    let memory = memory.map(|id| &program.allocation(id).name);
    // Whichever buffer it is of.
    match call.memory_change() {
        Some((_, MemoryChange::Pin)) => return "pin".to_owned(),
        Some((_, MemoryChange::Unpin)) => return "unpin".to_owned(),
        Some((_, MemoryChange::Renew)) => return "renew".to_owned(),
        _ => {}
    }
    let way = call.crossing().map(|(_, way, ..)| way);
    let what = match way.or(call.prefetches_to().map(Residence::way)) {
        Some(way) => way.to_string(),
        None => program.kernel_of(call).unwrap_or_default().to_owned(),
    };
    format!("{} {what} {memory:?}", call.name())
}

/// The call as it is spelled out, and behind it what that does not say; `recorded`: which call
/// recorded the event that it waits for.
pub(super) fn line(
    names: &Names<'_>,
    (call, thread): (&Call, ThreadId),
    recorded: Option<usize>,
) -> String {
    let line = names.call(call, thread);
    match (call.stream_waits_for(), recorded, call.launched_calls()) {
        (Some(_), Some(at), _) => format!("{line}  # recorded by call {}", at + 1),
        (Some(_), None, _) => format!("{line}  # recorded in the previous run"),
        (None, _, Some(calls)) => format!("{line}  # the {calls} calls below"),
        (None, _, None) => line,
    }
}

/// For each call that waits for an event, which call before it recorded that.
pub(super) fn recorded(calls: &[Call]) -> Vec<Option<usize>> {
    let mut last = BTreeMap::new();
    let recorded = calls.iter().enumerate().map(|(at, call)| {
        if let Some(event) = call.recorded() {
            last.insert(event, at);
        }
        last.get(&call.stream_waits_for()?).copied()
    });
    recorded.collect()
}
