//! Ways for data other than plain copies of pinned memory, what may go on beside
//! a copy, and what is made before a plan can run.

use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;
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
}

impl TransferPath {
    pub const MAPPED: [Self; 3] = [Self::MappedRead, Self::MappedWrite, Self::MappedBoth];

    pub const MANAGED: [Self; 4] = [
        Self::ManagedFault,
        Self::ManagedPrefetchIn,
        Self::ManagedPrefetchOut,
        Self::ManagedResident,
    ];

    /// Every path, those of managed memory last.
    pub const ALL: [Self; 9] = [
        Self::WriteCombined,
        Self::OnDevice,
        Self::MappedRead,
        Self::MappedWrite,
        Self::MappedBoth,
        Self::ManagedFault,
        Self::ManagedPrefetchIn,
        Self::ManagedPrefetchOut,
        Self::ManagedResident,
    ];

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteCombined => "H2D copy, write-combined",
            Self::OnDevice => "D2D copy",
            Self::MappedRead => "kernel reading mapped memory",
            Self::MappedWrite => "kernel writing mapped memory",
            Self::MappedBoth => "kernel reading and writing mapped memory",
            Self::ManagedFault => "kernel faulting managed memory in",
            Self::ManagedPrefetchIn => "H2D prefetch of managed memory",
            Self::ManagedPrefetchOut => "D2H prefetch of managed memory",
            Self::ManagedResident => "kernel reading resident managed memory",
        }
    }
}

/// What goes on beside copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// [`STREAMING_KERNEL`]s back to back.
    Kernel,
    /// [`STREAMING_TWIN`]s on all threads, over memory that no cache holds.
    Cpu,
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
    pub const ALL: [Self; 2] = [Self::Kernel, Self::Cpu];

    /// The size of the copies beside this load: they take about as long.
    pub const fn copy(self) -> Bytes {
        match self {
            Self::Kernel => Bytes::mib(4),
            Self::Cpu => Bytes::mib(64),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "a memory-bound kernel",
            Self::Cpu => "CPU threads that stream through memory",
        }
    }
}

/// Something that is made before a plan can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupStep {
    Stream,
    /// An event that orders streams and takes no time stamp.
    Event,
    /// A context, while another one is in use.
    Context,
    /// Loading the kernel library that NVRTC compiled and that the driver has in its cache.
    Module,
}

impl SetupStep {
    pub const ALL: [Self; 4] = [Self::Stream, Self::Event, Self::Context, Self::Module];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "creating a stream",
            Self::Event => "creating an event",
            Self::Context => "creating a context",
            Self::Module => "loading a module",
        }
    }
}
