//! One call of a plan on one line, in the grammar in which scenarios spell programs out.

use crate::program::spelled::Names;
use crate::program::{Call, CopyBy, Facts, Program, Route, ThreadId};
use std::collections::BTreeMap;

/// Equal for calls that do the same to other pieces, in whichever stream.
pub(super) fn sort(program: &Program, call: &Call) -> String {
    let facts = call.facts();
    let Facts { allocation, from, to, .. } = facts;
    let first = from.or(to).or(facts.reads().next());
    let memory = allocation.or(first.map(|slice| slice.allocation));
    let memory = memory.map(|id| &program.allocation(id).name);
    let what = match call {
        // Whichever buffer it is of.
        Call::Pin(_) => return "pin".to_owned(),
        Call::Unpin(_) => return "unpin".to_owned(),
        Call::Renew(_) => return "renew".to_owned(),
        Call::Copy { by: CopyBy::Stream(_, Route::Crossing(way)), .. } => way.to_string(),
        Call::Prefetch { to, .. } => to.way().to_string(),
        _ => program.kernel_of(call).unwrap_or_default().to_owned(),
    };
    format!("{} {what} {memory:?}", facts.name)
}

/// The call as it is spelled out, and behind it what that does not say; `recorded`: which call
/// recorded the event that it waits for.
pub(super) fn line(
    names: &Names<'_>,
    (call, thread): (&Call, ThreadId),
    recorded: Option<usize>,
) -> String {
    let line = names.call(call, thread);
    match (call, recorded) {
        (Call::Wait { .. }, Some(at)) => format!("{line}  # recorded by call {}", at + 1),
        (Call::Wait { .. }, None) => format!("{line}  # recorded in the previous run"),
        (Call::Replay { calls, .. }, _) => format!("{line}  # the {calls} calls below"),
        _ => line,
    }
}

/// For each call that waits for an event, which call before it recorded that.
pub(super) fn recorded(calls: &[Call]) -> Vec<Option<usize>> {
    let mut last = BTreeMap::new();
    let recorded = calls.iter().enumerate().map(|(at, call)| match call {
        Call::Record { event, .. } => {
            last.insert(*event, at);
            None
        }
        Call::Wait { event, .. } => last.get(event).copied(),
        _ => None,
    });
    recorded.collect()
}
