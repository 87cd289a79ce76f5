//! Who does the timed work, and so what else may disturb it.

use super::{MemoryWork, Quantity};
use crate::units::Bytes;

/// Who does what is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doer {
    /// The device alone: the host only issues the work.
    Device,
    /// One host thread. It takes half as long again if something else uses its core.
    OneThread,
    /// Several host threads at once. If all cores work, they disturb each other anyway.
    Several,
}

impl Quantity {
    /// Who does the work that is timed.
    pub fn doer(&self) -> Doer {
        use MemoryWork::{CombinedReadTeam, CombinedWriteTeam, FirstTouchTeam, SecondTouchTeam};
        match self {
            Self::Copy { .. }
            | Self::CopyBesideKernels { .. }
            | Self::Kernel { .. }
            | Self::JustCopied { .. }
            | Self::KernelAround { .. }
            | Self::Chain { .. }
            | Self::GraphChain { .. }
            | Self::GraphRows { .. }
            | Self::Rotation { .. }
            | Self::Polled { .. }
            | Self::Refetched { .. }
            | Self::PeerCopy { .. } => Doer::Device,
            Self::Memory {
                work: CombinedReadTeam | CombinedWriteTeam | FirstTouchTeam | SecondTouchTeam,
                ..
            } => Doer::Several,
            Self::Call { .. }
            | Self::CallInTurn { .. }
            | Self::LaunchBeside { .. }
            | Self::IdleCall { .. }
            | Self::RoundTrip { .. }
            | Self::Trip { .. }
            | Self::LateTrip { .. }
            | Self::GraphCall { .. }
            | Self::Staged { .. }
            | Self::Memory { .. }
            | Self::Crossing { .. }
            | Self::Setup { .. } => Doer::OneThread,
            Self::Twin { variant, elements, footprint } => {
                let is_shared = variant.is_shared(*elements, footprint.get());
                if is_shared { Doer::Several } else { Doer::OneThread }
            }
            _ => Doer::Several,
        }
    }

    /// Whether it is about copies over the host's link that are so large that nearly all of their
    /// time is set by the link's rate.
    pub fn is_of_rate(&self) -> bool {
        match self {
            Self::Copy { bytes, .. }
            | Self::Shared { bytes, .. }
            | Self::Concurrent { bytes, .. } => *bytes >= LARGE_COPY,
            _ => false,
        }
    }
}

/// A few copies of this size last a millisecond or more.
const LARGE_COPY: Bytes = Bytes::mib(16);
