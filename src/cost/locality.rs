//! Where calls find their data.

use crate::profile::{DeviceLocality, HostLocality, MemoryWork};
use crate::program::AllocationId;
use crate::units::Bytes;

/// Where a call finds its data.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Locality {
    /// Set for a kernel on the CPU, and for a copy by the CPU.
    pub around: Option<HostLocality>,
    pub on_device: Option<DeviceLocality>,
    /// Set for a call that uses pages of host memory first.
    pub new_pages: Option<NewPages>,
    /// Bytes of managed memory that move because of the call.
    pub moves: Bytes,
}

/// New pages that a call uses first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewPages {
    pub allocation: AllocationId,
    /// What the price depends on: who uses them.
    pub cost: MemoryWork,
    pub bytes: Bytes,
}
