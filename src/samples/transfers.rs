//! Paths of data other than plain copies of pinned memory.

use super::named::named;
use crate::machine::Direction;

named! {
    /// A way for data that is no plain copy of pinned or pageable memory.
    pub enum TransferPath {
        /// An H2D copy of pinned memory that the CPU's caches do not hold.
        WriteCombined = "write-combined", "H2D copy, write-combined";
        /// A copy from device memory to device memory (D2D).
        OnDevice = "on-device", "D2D copy";
        /// A kernel reads pinned host memory across the link (zero-copy). `MappedWrite` writes to
        /// it, and `MappedBoth` reads some and writes other.
        MappedRead = "mapped-read", "kernel reading mapped memory";
        MappedWrite = "mapped-write", "kernel writing mapped memory";
        MappedBoth = "mapped-both", "kernel reading and writing mapped memory";
        /// A kernel reads managed memory that was on the host: pages move fault by fault.
        ManagedFault = "managed-fault", "kernel faulting in managed memory";
        /// Managed memory that is prefetched to the device; `ManagedPrefetchOut` is back to the
        /// host.
        ManagedPrefetchIn = "managed-prefetch-in", "H2D prefetch of managed memory";
        ManagedPrefetchOut = "managed-prefetch-out", "D2H prefetch of managed memory";
        /// A kernel reads managed memory that is on the device.
        ManagedResident = "managed-resident", "kernel reading resident managed memory";
        /// All threads of the CPU read managed memory that was on the device.
        ManagedFaultOut = "managed-fault-out", "CPU faulting managed memory back to the host";
        /// All threads of the CPU read managed memory that is on the host.
        ManagedOnHost = "managed-on-host", "CPU reading managed memory";
        /// The host's part of a prefetch to the device: until the call returns.
        ManagedPrefetchInCall = "managed-prefetch-in-call", "H2D prefetch call";
        ManagedPrefetchOutCall = "managed-prefetch-out-call", "D2H prefetch call";
        /// An H2D copy of pinned memory that one thread of the CPU has just written: its caches
        /// hold newer data than memory does. `WrittenByAll`: all threads have; `WrittenLongAgo`:
        /// nobody has.
        WrittenByOne = "written-by-one", "H2D copy of data just written by one thread";
        WrittenByAll = "written-by-all", "H2D copy of data just written by all threads";
        WrittenLongAgo = "written-long-ago", "H2D copy of data written long ago";
    }
}

/// What the link between host and device has to do with the time of a path that crosses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLink {
    /// The link sets the rate, as it does for copies of pinned memory.
    SetsRate(Direction),
    /// Something slower than the link sets the rate.
    KeepsUp(Direction),
}

impl TransferPath {
    /// `None` if nothing crosses the link, and for kernels that reach across it: these have rates
    /// of their own.
    pub const fn on_link(self) -> Option<OnLink> {
        use Direction::{DeviceToHost, HostToDevice};
        Some(match self {
            Self::WriteCombined | Self::WrittenLongAgo => OnLink::SetsRate(HostToDevice),
            // The caches that hold the data are slower.
            Self::WrittenByOne | Self::WrittenByAll => OnLink::KeepsUp(HostToDevice),
            Self::ManagedFault | Self::ManagedPrefetchIn => OnLink::KeepsUp(HostToDevice),
            Self::ManagedFaultOut | Self::ManagedPrefetchOut => OnLink::KeepsUp(DeviceToHost),
            Self::MappedRead | Self::MappedWrite | Self::MappedBoth => return None,
            Self::OnDevice
            | Self::ManagedResident
            | Self::ManagedOnHost
            | Self::ManagedPrefetchInCall
            | Self::ManagedPrefetchOutCall => return None,
        })
    }

    pub const MANAGED: [Self; 8] = [
        Self::ManagedFault,
        Self::ManagedPrefetchIn,
        Self::ManagedPrefetchOut,
        Self::ManagedResident,
        Self::ManagedFaultOut,
        Self::ManagedOnHost,
        Self::ManagedPrefetchInCall,
        Self::ManagedPrefetchOutCall,
    ];

    /// Paths of managed memory that are measured together.
    pub const MANAGED_TOGETHER: [[Self; 2]; 3] = [
        [Self::ManagedPrefetchIn, Self::ManagedPrefetchInCall],
        [Self::ManagedPrefetchOut, Self::ManagedPrefetchOutCall],
        [Self::ManagedFaultOut, Self::ManagedOnHost],
    ];

    /// H2D copies of what the CPU has written before, which are measured together.
    pub const WRITTEN: [Self; 3] = [Self::WrittenByOne, Self::WrittenByAll, Self::WrittenLongAgo];
}
