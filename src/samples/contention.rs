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

/// Size of the H2D copies that are measured beside waiting kernels.
pub const REFETCHED: Bytes = Bytes::mib(1);

/// Numbers of streams in which kernels wait, with the number of kernels in each: none at all, then
/// from few streams, whose commands the device keeps, to more than it reads at a time.
pub fn waiting_kernels() -> impl Iterator<Item = (usize, u64)> {
    let some = [2, 3, 4].into_iter();
    let some = some.flat_map(|streams| [1, 4, 16].map(|kernels| (streams, kernels)));
    std::iter::once((0, 0)).chain(some)
}
