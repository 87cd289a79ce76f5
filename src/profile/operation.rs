//! The kinds of operations on a device.

use crate::machine::Direction;
use serde::{Deserialize, Serialize};

/// What an operation is, and so which engine it keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    CopyIn,
    CopyOut,
    Kernel,
    PeerCopy,
}

impl OperationKind {
    pub const COUNT: usize = 4;
    pub const ALL: [Self; Self::COUNT] =
        [Self::CopyIn, Self::CopyOut, Self::Kernel, Self::PeerCopy];

    /// The kind of a copy between host and device.
    pub const fn of_copy(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::CopyIn,
            Direction::DeviceToHost => Self::CopyOut,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CopyIn => "an H2D copy",
            Self::CopyOut => "a D2H copy",
            Self::Kernel => "a kernel",
            Self::PeerCopy => "a copy between GPUs",
        }
    }
}
