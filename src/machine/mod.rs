//! Nouns of the hardware: devices, streams, directions, kinds of host memory and how much memory
//! there is.
//!
//! Invariant: nothing here knows of programs, or of how anything is measured.

mod condition;
mod gpu_model;
mod host_pages;
mod link;

pub use condition::Condition;
pub use gpu_model::GpuModel;
pub use host_pages::HostPages;
pub use link::{NvLinks, PcieLink};

use crate::units::{Bytes, words};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes per second: more than any memory or all caches of a device carry.
pub const FASTEST_MEMORY: f64 = 5e13;

/// More CPU threads than any host has.
pub const MOST_CPU_THREADS: u64 = 1 << 16;

/// What a multiprocessor holds at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiprocessorLimits {
    pub threads: u32,
    pub blocks: u32,
    pub registers: u32,
    pub shared_bytes: u32,
}

/// The limits of compute capability 9.0 (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability"), for machines that somebody described without limits.
impl Default for MultiprocessorLimits {
    fn default() -> Self {
        Self { threads: 2048, blocks: 32, registers: 65_536, shared_bytes: 228 << 10 }
    }
}

/// A stream of a program, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub usize);

/// A GPU of a program, counted from 0: which GPU of the machine that is, is not
/// the program's to say.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DeviceId(pub usize);

impl DeviceId {
    /// The only one of most plans, and where buffers live whose home is the device.
    pub const FIRST: Self = Self(0);
}

words! {
    /// The processors that compute in a plan.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Side {
        /// Only the CPU.
        Cpu = "cpu",
        /// Only GPUs.
        Gpu = "gpu",
        /// The CPU and GPUs.
        Both = "both",
    }
}

words! {
    /// A kind of host memory.
    // The order is that of rows in tables.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum HostMemory {
        /// Ordinary memory: the driver stages copies through pinned memory of its own.
        Pageable = "pageable",
        /// Page-locked: the copy engine reads and writes it directly, and kernels can access it
        /// over the link.
        Pinned = "pinned",
        /// Page-locked memory that the CPU does not cache: fast to write, very slow to read.
        WriteCombined = "write-combined",
        /// Memory whose pages migrate to where they are used.
        Managed = "managed",
    }
}

impl HostMemory {
    /// Whether it is page-locked, so that no copy of it is staged.
    pub const fn is_pinned(self) -> bool {
        matches!(self, Self::Pinned | Self::WriteCombined)
    }

    /// Whether kernels on a device may use it.
    pub const fn is_seen_by_devices(self) -> bool {
        !matches!(self, Self::Pageable)
    }
}

/// A side that has pages of managed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residence {
    Host,
    Device,
}

impl Residence {
    /// Which way pages go that come here.
    pub const fn way(self) -> Direction {
        match self {
            Self::Host => Direction::DeviceToHost,
            Self::Device => Direction::HostToDevice,
        }
    }
}

words! {
    /// Which way a copy goes between host and device.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Direction {
        HostToDevice = "H2D",
        DeviceToHost = "D2H",
    }
}

impl Direction {
    pub const BOTH: [Self; 2] = Self::ALL;

    /// The side of a copy that is in host memory.
    pub const fn ashore<'s, T>(self, from: &'s T, to: &'s T) -> &'s T {
        match self {
            Self::HostToDevice => from,
            Self::DeviceToHost => to,
        }
    }
}

words! {
    /// What an operation on a device is, and so which engine it keeps busy.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum OperationKind {
        CopyIn = "an H2D copy",
        CopyOut = "a D2H copy",
        Kernel = "a kernel",
        /// A copy from one GPU to another.
        PeerCopy = "a copy between GPUs",
    }
}

impl OperationKind {
    pub const COUNT: usize = Self::ALL.len();
    /// Kinds of operations that a single device has.
    pub const OF_ONE_DEVICE: [Self; 3] = [Self::CopyIn, Self::CopyOut, Self::Kernel];

    /// The kind of a copy between host and device.
    pub const fn of_copy(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::CopyIn,
            Direction::DeviceToHost => Self::CopyOut,
        }
    }

    /// Its name in a list.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::CopyIn => "H2D",
            Self::CopyOut => "D2H",
            Self::Kernel => "kernel",
            Self::PeerCopy => "P2P",
        }
    }
}

/// How much memory of each kind a plan may take. `None` means no limit, or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacities {
    /// On each device that the plan uses.
    pub device: Option<Bytes>,
    pub pinned: Option<Bytes>,
    /// Host memory, pinned or not.
    pub host: Option<Bytes>,
}
