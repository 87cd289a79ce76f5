//! The process that runs a scenario's programs.

use super::raw::{RawBuffer, RawHome, RawProcess};
use crate::files::Fault;
use crate::program::{Process, ProcessState, StateReason};
use crate::units::Span;

/// The process that a scenario states, or the one that its buffers speak for.
pub(super) fn process(raw: &RawProcess, buffers: &[RawBuffer]) -> Result<Process, Fault> {
    let help = "write a number and a unit: ns, us, ms or s, such as \"4 s\"";
    let start = raw.start.as_ref().map(|start| start.parsed("`start`: ", "not a time", help));
    let start: Option<Span> = start.transpose()?;
    let state = raw.state.as_ref().map(|state| *state.get_ref());
    if let (Some(text), Some(stated), Some(ProcessState::Running)) = (&raw.start, &raw.state, state)
    {
        let message = "`[process]` has a `start`, but a running process has already started";
        let help = "remove `start`, or set `state = \"new\"`";
        return Err(Fault::new(message, text.span(), "only for a new process", help)
            .and(stated.span(), "running"));
    }
    // Whoever says how long the process takes to start means one that starts.
    let stated = state.or(raw.start.as_ref().map(|_| ProcessState::New));
    let at_home = buffers.iter().find(|buffer| buffer.home == RawHome::Device);
    let (state, reason) = match (stated, at_home) {
        (Some(state), _) => (state, StateReason::Stated),
        (None, Some(buffer)) => {
            let name = buffer.name.get_ref().clone();
            (ProcessState::Running, StateReason::AtHomeOnDevice(name))
        }
        (None, None) => (ProcessState::New, StateReason::Default),
    };
    Ok(Process { state, reason, start: start.unwrap_or_default() })
}
