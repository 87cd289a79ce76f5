//! A step of a kernel of the library, or of one that is not.

use super::call::Call;
use super::operands::Step;
use super::own_step::OwnStep;
use crate::machine::StreamId;

/// A step of a kernel of either sort.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyStep {
    Library(Step),
    Own(OwnStep),
}

impl AnyStep {
    /// The call that launches it.
    pub fn launched(self, stream: StreamId) -> Call {
        match self {
            Self::Library(step) => Call::Launch { stream, step },
            Self::Own(step) => Call::LaunchOwn { stream, step },
        }
    }

    /// The call that computes it on the CPU.
    pub fn computed(self) -> Call {
        match self {
            Self::Library(step) => Call::Compute { step },
            Self::Own(step) => Call::ComputeOwn { step },
        }
    }
}
