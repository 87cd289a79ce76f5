//! Calls in another stream, or about other memory.

use super::call::Call;
use super::operands::{CopyBy, Slice};
use super::step::Step;
use crate::machine::StreamId;

impl Call {
    /// The call in another stream. Calls that go into no stream, and those about events, stay as
    /// they are.
    #[must_use]
    pub fn in_stream(mut self, to: StreamId) -> Self {
        match &mut self {
            Self::Clear { stream, .. }
            | Self::Copy { by: CopyBy::Stream(stream, _), .. }
            | Self::Launch { stream, .. } => *stream = to,
            _ => {}
        }
        self
    }

    /// Changes every range of memory that the call names.
    pub fn redirect(&mut self, change: &dyn Fn(&mut Slice)) {
        match self {
            Self::Copy { from, to, .. } => [from, to].into_iter().for_each(change),
            Self::Clear { target, .. } | Self::Prefetch { target, .. } => change(target),
            Self::Launch { step, .. } | Self::Compute { step } => match step {
                Step::Library(step) => {
                    step.inputs.iter_mut().for_each(change);
                    change(&mut step.output);
                    step.workspace.iter_mut().for_each(change);
                }
                Step::Own(step) => {
                    step.reads.iter_mut().chain(&mut step.writes).for_each(change);
                }
            },
            _ => {}
        }
    }

    /// The step that it launches, to be changed.
    pub const fn launched_mut(&mut self) -> Option<&mut Step> {
        match self {
            Self::Launch { step, .. } => Some(step),
            _ => None,
        }
    }

    /// How many calls it launches as a graph, to be changed.
    pub const fn launched_calls_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Replay { calls, .. } => Some(calls),
            _ => None,
        }
    }
}
