//! What goes on beside copies.

use super::named::named;
use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

named! {
    /// What goes on beside copies.
    pub enum Load {
        /// [`STREAMING_KERNEL`]s back to back.
        Kernel = "kernel", "a memory-bound kernel";
        /// [`STREAMING_TWIN`]s on all threads, over memory that no cache holds.
        Cpu = "cpu", "CPU threads that stream from memory";
    }
}

/// One of two things that go on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Copy,
    Load,
}

/// A kernel that is bound by device memory, with its number of elements.
pub const STREAMING_KERNEL: (Variant, u64) =
    (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 24);

/// A CPU twin that is bound by host memory, with its number of elements.
pub const STREAMING_TWIN: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 24);

impl Load {
    /// The size of the copies beside this load: they take about as long.
    pub const fn copy(self) -> Bytes {
        match self {
            Self::Kernel => Bytes::mib(4),
            Self::Cpu => Bytes::mib(64),
        }
    }
}

/// How H2D copies beside waiting kernels are measured.
pub struct Waiting {
    /// Size of each copy.
    pub bytes: Bytes,
    /// Numbers of streams in which kernels wait; `kernels` are the numbers in each.
    pub streams: [usize; 3],
    pub kernels: [u64; 3],
}

/// From few waiting streams, whose commands the device keeps, to more than it reads at a time.
pub const REFETCHED: Waiting =
    Waiting { bytes: Bytes::mib(1), streams: [2, 3, 4], kernels: [1, 4, 16] };

impl Waiting {
    /// Pairs of streams and kernels in each: none at all, then every combination.
    pub fn cases(&self) -> impl Iterator<Item = (usize, u64)> {
        let kernels = self.kernels;
        let some = self.streams.into_iter();
        let some = some.flat_map(move |streams| kernels.map(|kernels| (streams, kernels)));
        std::iter::once((0, 0)).chain(some)
    }
}
