//! The value that every importer makes.

use super::stated::{KernelUse, PointerAccess};
use crate::machine::Direction;
use crate::units::{Bytes, Instant, Span, words};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What happened in some processes: the calls of their threads, and what the GPUs did for them.
///
/// Times are nanoseconds since the first event that the trace holds. Calls are in order of their
/// begins, what the GPUs did in order of its starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub origin: Origin,
    pub gpus: Vec<Gpu>,
    pub threads: Vec<HostThread>,
    pub calls: Vec<HostCall>,
    pub work: Vec<DeviceWork>,
    /// Named parts of a thread's time: NVTX, or annotations of a framework.
    pub ranges: Vec<Range>,
    /// The time that the tool shows for a kernel that does nothing, if it measured one. Every
    /// kernel's time has it.
    pub empty_kernel: Option<Span>,
    /// What the user says of kernels' pointers; the last statement counts.
    pub stated_uses: Vec<(PointerAccess, KernelUse)>,
    /// What was wrong with the file, and how often.
    pub defects: BTreeMap<Defect, usize>,
}

/// Where a trace comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The tool, such as `Nsight Systems`.
    pub tool: &'static str,
    /// The version of its format, as the file says it.
    pub version: Option<String>,
    /// The name of the ranges outside of which nothing was recorded, if only a part was.
    pub part: Option<String>,
}

/// The tool of hallway's own recordings.
pub const RECORDER: &str = "hallway record";

/// A GPU that a process used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number, as the process counts.
    pub device: u32,
    pub name: Option<String>,
}

/// A thread that made calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostThread {
    pub process: u64,
    pub id: u64,
    pub name: Option<String>,
}

/// A stream of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKey {
    pub process: u64,
    pub device: u32,
    /// Its number, as the trace counts.
    pub stream: u64,
}

/// A call that a thread made.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Position in [`Trace::threads`].
    pub thread: usize,
    pub kind: CallKind,
    /// The function, such as `cudaMemcpyAsync`.
    pub function: Arc<str>,
    pub begin: Instant,
    pub end: Instant,
    /// How much of the time since the thread's last call the recording tool itself took, as far as
    /// that is known.
    pub recorder: Span,
}

/// What a call asks for. Streams are `None` where the trace does not say which one was meant.
#[derive(Debug, Clone, PartialEq)]
pub enum CallKind {
    /// A copy. `blocking` is for the functions that wait by definition: `cudaMemcpy`.
    Copy {
        places: CopyPlaces,
        bytes: Option<Bytes>,
        stream: Option<StreamKey>,
        blocking: bool,
    },
    /// Fills device memory: `cudaMemset`.
    Clear {
        target: Option<u64>,
        bytes: Option<Bytes>,
        stream: Option<StreamKey>,
    },
    /// Launches a kernel. `pointers` are the addresses that it was given, if the trace has them.
    Launch {
        stream: Option<StreamKey>,
        pointers: Vec<u64>,
    },
    LaunchGraph {
        stream: Option<StreamKey>,
    },
    Record {
        event: u64,
        stream: Option<StreamKey>,
    },
    /// Has a stream wait for an event: `cudaStreamWaitEvent`.
    Wait {
        event: u64,
        stream: Option<StreamKey>,
    },
    Synchronize {
        stream: Option<StreamKey>,
    },
    SynchronizeEvent {
        event: u64,
    },
    SynchronizeDevice,
    /// Takes memory, in the order of a stream if there is one.
    Allocate {
        memory: MemoryKind,
        address: u64,
        bytes: Bytes,
        stream: Option<StreamKey>,
    },
    Free {
        address: u64,
        stream: Option<StreamKey>,
    },
    /// Page-locks host memory that exists already.
    Register {
        address: u64,
        bytes: Bytes,
    },
    Unregister {
        address: u64,
    },
    Prefetch {
        address: u64,
        bytes: Bytes,
        stream: Option<StreamKey>,
    },
    /// Any other call to CUDA: it takes the host's time, and that is all that is known.
    Other,
}

/// Where the bytes of a copy lie, if the trace has addresses, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyPlaces {
    pub from: Option<u64>,
    pub to: Option<u64>,
    /// A checksum of what was copied, if it was recorded.
    pub digest: Option<u64>,
    /// Whether it goes to host memory that was new: most of its pages had never been touched.
    pub to_new: bool,
    /// Whether the host changed the source before it knew that the copy was done.
    pub changed_early: bool,
}

words! {
    /// A kind of memory.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum MemoryKind {
        Pageable = "pageable",
        Pinned = "pinned",
        Device = "device",
        Managed = "managed",
        /// A texture's array on the device.
        Array = "array",
        Unknown = "unknown",
    }
}

impl MemoryKind {
    /// Whether it is on the host. What a trace does not say counts as pageable: that is what
    /// programs have where they ask for nothing else.
    pub const fn is_on_host(self) -> bool {
        matches!(self, Self::Pageable | Self::Pinned | Self::Unknown)
    }
}

/// Something that a GPU did.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceWork {
    pub kind: WorkKind,
    pub stream: StreamKey,
    pub start: Instant,
    pub end: Instant,
    /// Position in [`Trace::calls`] of the call that asked for it.
    pub call: Option<usize>,
    /// The node, if a graph did it.
    pub graph_node: Option<u64>,
}

/// What a GPU can do.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkKind {
    Kernel {
        name: Arc<str>,
        grid: [u32; 3],
        block: [u32; 3],
        registers: u32,
        shared: Bytes,
    },
    /// `bytes` is `None` where the trace does not say how many.
    Copy {
        from: MemoryKind,
        to: MemoryKind,
        bytes: Option<Bytes>,
    },
    Clear {
        bytes: Option<Bytes>,
    },
}

/// A named part of a thread's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Position in [`Trace::threads`].
    pub thread: usize,
    pub name: Arc<str>,
    pub begin: Instant,
    pub end: Instant,
}

words! {
    /// Something wrong with a file, and by which rule its event was used or left out.
    pub enum Defect {
        /// Left out: its place in time is not known.
        ZeroTime = "has no time",
        /// Left out.
        EndsBeforeStart = "ends before it starts",
        /// Kept, without its call.
        NoCall = "was recorded without its call",
        /// Kept as it is: clocks of host and GPU differ a little.
        BeforeItsCall = "starts before its call",
        /// Kept, without bytes.
        NoBytes = "does not say how many bytes it copied",
        /// Left out: it names memory, a stream or a type that the format does not have.
        Unreadable = "cannot be read",
        /// The file ends in the middle of its events.
        Cut = "was cut off",
        /// Kept, without their order: records that the tool itself dropped.
        Dropped = "was dropped by the recording tool",
    }
}

/// How the names of functions begin that make a stream.
const CREATE: &str = "cudaStreamCreate";

/// The numbers that CUPTI gives to the legacy default stream of a context, and that ROCm does.
const DEFAULT_STREAMS: [u64; 2] = [7, 0];

impl StreamKey {
    /// Whether it is the legacy default stream.
    pub const fn is_default(self) -> bool {
        self.stream == DEFAULT_STREAMS[0] || self.stream == DEFAULT_STREAMS[1]
    }
}

impl WorkKind {
    /// The direction of a copy between host and GPU, and the memory on the host.
    pub const fn crossing(&self) -> Option<(Direction, MemoryKind)> {
        match *self {
            Self::Copy { from, to, .. } => match (from.is_on_host(), to.is_on_host()) {
                (true, false) => Some((Direction::HostToDevice, from)),
                (false, true) => Some((Direction::DeviceToHost, to)),
                _ => None,
            },
            Self::Kernel { .. } | Self::Clear { .. } => None,
        }
    }

    /// Whether a function that waits by definition waits for it: copies inside a GPU do not hold
    /// the host (CUDA Driver API, "API synchronization behavior").
    pub const fn holds_blocking_call(&self) -> bool {
        self.crossing().is_some()
    }

    /// Whether it is a copy that the driver stages.
    pub fn is_staged(&self) -> bool {
        self.crossing().is_some_and(|(_, memory)| memory != MemoryKind::Pinned)
    }
}

impl CallKind {
    /// The stream that the call is about, if it is about one and that is known.
    pub const fn stream(&self) -> Option<StreamKey> {
        match self {
            Self::Copy { stream, .. }
            | Self::Clear { stream, .. }
            | Self::Launch { stream, .. }
            | Self::LaunchGraph { stream }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::Synchronize { stream }
            | Self::Allocate { stream, .. }
            | Self::Free { stream, .. }
            | Self::Prefetch { stream, .. } => *stream,
            Self::SynchronizeEvent { .. }
            | Self::SynchronizeDevice
            | Self::Register { .. }
            | Self::Unregister { .. }
            | Self::Other => None,
        }
    }

    /// Where it says its stream, if calls of its kind have one.
    pub const fn stream_mut(&mut self) -> Option<&mut Option<StreamKey>> {
        match self {
            Self::Copy { stream, .. }
            | Self::Clear { stream, .. }
            | Self::Launch { stream, .. }
            | Self::LaunchGraph { stream }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::Synchronize { stream }
            | Self::Allocate { stream, .. }
            | Self::Free { stream, .. }
            | Self::Prefetch { stream, .. } => Some(stream),
            Self::SynchronizeEvent { .. }
            | Self::SynchronizeDevice
            | Self::Register { .. }
            | Self::Unregister { .. }
            | Self::Other => None,
        }
    }

    /// Whether the host does nothing but wait.
    pub const fn only_waits(&self) -> bool {
        matches!(
            self,
            Self::Synchronize { .. } | Self::SynchronizeEvent { .. } | Self::SynchronizeDevice
        )
    }
}

impl Trace {
    /// Counts something wrong.
    pub fn note(&mut self, defect: Defect) {
        *self.defects.entry(defect).or_default() += 1;
    }

    /// Whether it says what the host did. Some recordings hold only what GPUs did.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether it says which copies went to new memory. Profilers do not say that.
    pub fn knows_new_memory(&self) -> bool {
        self.origin.tool == RECORDER
    }

    /// Whether some copies are known to go to new memory.
    pub fn copies_to_new_memory(&self) -> bool {
        let is_one =
            |call: &HostCall| matches!(&call.kind, CallKind::Copy { places, .. } if places.to_new);
        self.calls.iter().any(is_one)
    }

    /// Whether streams wait for the legacy default stream, and it for them. A trace does not say so
    /// of a stream: `cudaStreamCreate` makes streams that do, and all other ways to make one are
    /// there to make one that does not. What most streams are, all count as; libraries make some
    /// of their own.
    pub fn has_blocking_streams(&self) -> bool {
        let [plain, other] = self.streams_made();
        plain > other
    }

    /// Whether some streams were made in one way and some in the other.
    pub fn has_streams_of_both_kinds(&self) -> bool {
        self.streams_made().iter().all(|&made| made > 0)
    }

    /// Streams that were made by `cudaStreamCreate`, and in other ways.
    fn streams_made(&self) -> [usize; 2] {
        let made = self.calls.iter().filter_map(|call| call.function.strip_prefix(CREATE));
        let (plain, other): (Vec<&str>, Vec<&str>) = made.partition(|rest| rest.is_empty());
        [plain.len(), other.len()]
    }

    /// Whether it says where the bytes of copies lie.
    pub fn has_addresses(&self) -> bool {
        self.calls.iter().any(|call| match call.kind {
            CallKind::Copy { places, .. } => places.from.or(places.to).is_some(),
            _ => false,
        })
    }

    /// When the last event ended.
    pub fn end(&self) -> Instant {
        let calls = self.calls.iter().map(|call| call.end);
        calls.chain(self.work.iter().map(|work| work.end)).max().unwrap_or_default()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.tool),
            None => f.write_str(self.tool),
        }
    }
}
