//! Paths of data other than plain copies of pinned memory.

use serde::{Deserialize, Serialize};

/// A way for data that is no plain copy of pinned or pageable memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferPath {
    /// An H2D copy of pinned memory that the CPU's caches do not hold.
    WriteCombined,
    /// A copy from device memory to device memory (D2D).
    OnDevice,
    /// A kernel reads pinned host memory across the link (zero-copy). `MappedWrite` writes to it,
    /// and `MappedBoth` reads some and writes other.
    MappedRead,
    MappedWrite,
    MappedBoth,
    /// A kernel reads managed memory that was on the host: pages move fault by fault.
    ManagedFault,
    /// Managed memory that is prefetched to the device; `ManagedPrefetchOut` is back to the host.
    ManagedPrefetchIn,
    ManagedPrefetchOut,
    /// A kernel reads managed memory that is on the device.
    ManagedResident,
    /// All threads of the CPU read managed memory that was on the device.
    ManagedFaultOut,
    /// All threads of the CPU read managed memory that is on the host.
    ManagedOnHost,
    /// The host's part of a prefetch to the device: until the call returns.
    ManagedPrefetchInCall,
    ManagedPrefetchOutCall,
    /// An H2D copy of pinned memory that one thread of the CPU has just written: its caches hold
    /// newer data than memory does. `WrittenByAll`: all threads have; `WrittenLongAgo`: nobody has.
    WrittenByOne,
    WrittenByAll,
    WrittenLongAgo,
}

impl TransferPath {
    pub const MAPPED: [Self; 3] = [Self::MappedRead, Self::MappedWrite, Self::MappedBoth];

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

    pub const ALL: [Self; 16] = [
        Self::WriteCombined,
        Self::OnDevice,
        Self::MappedRead,
        Self::MappedWrite,
        Self::MappedBoth,
        Self::ManagedFault,
        Self::ManagedPrefetchIn,
        Self::ManagedPrefetchOut,
        Self::ManagedResident,
        Self::ManagedFaultOut,
        Self::ManagedOnHost,
        Self::ManagedPrefetchInCall,
        Self::ManagedPrefetchOutCall,
        Self::WrittenByOne,
        Self::WrittenByAll,
        Self::WrittenLongAgo,
    ];

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteCombined => "H2D copy, write-combined",
            Self::OnDevice => "D2D copy",
            Self::MappedRead => "kernel reading mapped memory",
            Self::MappedWrite => "kernel writing mapped memory",
            Self::MappedBoth => "kernel reading and writing mapped memory",
            Self::ManagedFault => "kernel faulting in managed memory",
            Self::ManagedPrefetchIn => "H2D prefetch of managed memory",
            Self::ManagedPrefetchOut => "D2H prefetch of managed memory",
            Self::ManagedResident => "kernel reading resident managed memory",
            Self::ManagedFaultOut => "CPU faulting back managed memory",
            Self::ManagedOnHost => "CPU reading managed memory",
            Self::ManagedPrefetchInCall => "call of an H2D prefetch",
            Self::ManagedPrefetchOutCall => "call of a D2H prefetch",
            Self::WrittenByOne => "H2D copy of data just written by one thread",
            Self::WrittenByAll => "H2D copy of data just written by all threads",
            Self::WrittenLongAgo => "H2D copy of data written long ago",
        }
    }
}
