//! Whose time a quantity is, and so who else may be in it.

use super::{MemoryWork, Quantity};
use crate::units::Bytes;

/// Who does what is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doer {
    /// The device by itself; the host has no part but to issue it.
    Device,
    /// One thread of the host, half as long again if something else uses its core.
    OneThread,
    /// Several at once. Where all cores work, they are each other's company.
    Several,
}

impl Quantity {
    /// Who does it.
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

    /// Whether it is of copies across the host's link so large that next to all of their time is
    /// its rate.
    pub fn is_of_rate(&self) -> bool {
        match self {
            Self::Copy { bytes, .. }
            | Self::Shared { bytes, .. }
            | Self::Concurrent { bytes, .. } => *bytes >= LARGE_COPY,
            _ => false,
        }
    }
}

/// Of which a few last a millisecond and more.
const LARGE_COPY: Bytes = Bytes::mib(16);
