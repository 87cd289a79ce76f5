//! The program itself: memory, streams, events and calls.

use crate::kernels::{Arguments, Effort, Kernel, Variant};
use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Index of an allocation in [`Program::allocations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AllocationId(pub usize);

/// A buffer of the workload that a program carries out, counted from 0: an index into
/// `Workload::buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BufferId(pub usize);

/// An event of the plan, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId(pub usize);

/// How a stream stands to the legacy default stream (CUDA Runtime API, "Stream
/// synchronization behavior").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StreamKind {
    /// Does not synchronise with the default stream.
    #[default]
    NonBlocking,
    /// Work issued here waits for all work issued to the default stream before it, and the
    /// default stream's work waits for this stream's.
    Blocking,
    /// The legacy default stream itself: a barrier for every blocking stream.
    LegacyDefault,
}

/// What a stream is created as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamTraits {
    pub kind: StreamKind,
    /// Blocks of the lowest number that waits are dispatched first, as in CUDA.
    pub priority: i32,
    /// The device whose engines do the stream's work.
    pub device: DeviceId,
}

impl StreamTraits {
    /// Whether work issued to one of the two streams waits for work issued to the other before:
    /// so it is between a device's legacy default stream and its blocking streams.
    pub fn waits_for(&self, other: &Self) -> bool {
        use StreamKind::{Blocking, LegacyDefault};
        let kinds = (self.kind, other.kind);
        self.device == other.device
            && matches!(kinds, (Blocking, LegacyDefault) | (LegacyDefault, Blocking))
    }
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    Host(HostMemory),
    Device(DeviceId),
}

impl Place {
    /// The memory of the only device of most plans.
    pub const FIRST_DEVICE: Self = Self::Device(DeviceId::FIRST);
}

/// A piece of memory that the plan uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    pub name: String,
    pub place: Place,
    pub bytes: Bytes,
    /// The workload's buffer whose contents live here before and after the
    /// program, all batches one after the other. `None`: the program's own memory.
    pub holds: Option<BufferId>,
}

/// A range of bytes of one allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    pub allocation: AllocationId,
    pub offset: Bytes,
    pub length: Bytes,
}

impl Slice {
    pub fn end(&self) -> Bytes {
        self.offset + self.length
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.allocation == other.allocation
            && self.offset < other.end()
            && other.offset < self.end()
    }
}

/// One kernel over one range of elements, on the device or on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub kernel: Kernel,
    pub arguments: Arguments,
    pub inputs: Vec<Slice>,
    pub output: Slice,
    /// Device memory in which a reduction combines its blocks.
    pub workspace: Option<Slice>,
    /// How many input elements lie in front of the one that the first output element belongs to.
    pub lead: u64,
}

impl Step {
    /// All memory that the kernel uses: its inputs, its output and its workspace.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.inputs.iter().chain([&self.output]).chain(&self.workspace)
    }

    /// The elements the kernel works on: outputs of a map, inputs of a reduction.
    pub fn elements(&self) -> u64 {
        match self.kernel.shape() {
            crate::kernels::Shape::Map => self.output.length.as_f32_count(),
            crate::kernels::Shape::Reduction => self.inputs[0].length.as_f32_count(),
        }
    }

    /// Whether all threads of the CPU share the step, in a plan that uses so much host memory in a
    /// pass. If not, one thread does it all.
    pub fn is_shared(&self, footprint: Bytes) -> bool {
        Variant::of(self.kernel, &self.arguments).is_shared(self.elements(), footprint.get())
    }

    /// Whether each of so many threads keeps to its own share of the step, rather than helping
    /// others with theirs.
    pub fn keeps_shares(&self, threads: usize) -> bool {
        Effort::of(self.kernel, &self.arguments).keeps_shares(self.elements() as usize, threads)
    }
}

/// One call of the host thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Call {
    /// Allocate memory for the plan's own use.
    Allocate(AllocationId),
    /// Page-lock host memory that exists already.
    Pin(AllocationId),
    /// Give host memory back and take new, untouched pages for it.
    Renew(AllocationId),
    /// Zero device memory.
    Clear {
        stream: StreamId,
        target: Slice,
    },
    Copy {
        stream: StreamId,
        direction: Direction,
        from: Slice,
        to: Slice,
    },
    /// Copy from the memory of the stream's device to that of another.
    PeerCopy {
        stream: StreamId,
        from: Slice,
        to: Slice,
    },
    Launch {
        stream: StreamId,
        step: Step,
    },
    Record {
        stream: StreamId,
        event: EventId,
    },
    Wait {
        stream: StreamId,
        event: EventId,
    },
    /// Wait on the host until everything issued to the stream is done.
    Synchronize {
        stream: StreamId,
    },
    /// Make a device's context current. Calls that follow name streams of that device only. The
    /// first device's context is current before the body and after it.
    Use(DeviceId),
    /// Launch the `calls` calls that follow as one [`super::Graph`]. They were captured in the
    /// set-up; the host does not make them one by one.
    Replay {
        stream: StreamId,
        calls: usize,
    },
    /// Run a kernel's CPU twin on all threads and wait for it.
    Compute {
        step: Step,
    },
}

impl Call {
    /// The stream that the call is about, if it is about one.
    pub const fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Clear { stream, .. }
            | Self::Copy { stream, .. }
            | Self::PeerCopy { stream, .. }
            | Self::Launch { stream, .. }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::Replay { stream, .. }
            | Self::Synchronize { stream } => Some(*stream),
            Self::Allocate(_)
            | Self::Pin(_)
            | Self::Renew(_)
            | Self::Use(_)
            | Self::Compute { .. } => None,
        }
    }

    /// Whether the call changes the contents of an allocation.
    pub fn writes(&self, id: AllocationId) -> bool {
        match self {
            Self::Copy { to, .. } | Self::PeerCopy { to, .. } => to.allocation == id,
            Self::Clear { target, .. } => target.allocation == id,
            Self::Launch { step, .. } | Self::Compute { step } => step.output.allocation == id,
            _ => false,
        }
    }
}

/// A complete program: set-up once, body as often as wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// What the program is called. It says nothing of what the program does.
    pub label: String,
    pub allocations: Vec<Allocation>,
    pub streams: Vec<StreamTraits>,
    pub events: usize,
    pub setup: Vec<Call>,
    pub body: Vec<Call>,
}

impl Program {
    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.allocations[id.0]
    }

    /// Whether the plan uses a GPU at all.
    pub fn needs_device(&self) -> bool {
        !self.streams.is_empty()
    }

    /// GPUs that the plan uses.
    pub fn devices(&self) -> usize {
        self.streams.iter().map(|stream| stream.device.0 + 1).max().unwrap_or(0)
    }

    pub fn streams_of(&self, device: DeviceId) -> usize {
        self.streams.iter().filter(|stream| stream.device == device).count()
    }

    /// Whether the call at a position of the body copies pageable memory: the driver stages it
    /// through pinned memory of its own.
    pub fn is_staged(&self, call: usize) -> bool {
        let Some(Call::Copy { direction, from, to, .. }) = self.body.get(call) else {
            return false;
        };
        let ashore = self.allocation(direction.ashore(from, to).allocation);
        ashore.place == Place::Host(HostMemory::Pageable)
    }

    /// The device of a stream.
    pub fn device_of(&self, stream: StreamId) -> DeviceId {
        self.streams[stream.0].device
    }

    /// The devices that a peer copy goes from and to.
    ///
    /// # Panics
    /// If the call is not a peer copy between devices.
    pub fn peers_of(&self, from: &Slice, to: &Slice) -> [DeviceId; 2] {
        [from, to].map(|side| match self.allocation(side.allocation).place {
            Place::Device(device) => device,
            Place::Host(_) => panic!("a peer copy is from device to device"),
        })
    }

    /// The most memory that the plan takes of any device.
    pub fn device_bytes(&self) -> Bytes {
        let devices = (0..self.devices().max(1)).map(DeviceId);
        devices.map(|device| self.bytes_in(Place::Device(device))).max().unwrap_or(Bytes::ZERO)
    }

    /// Total size of the allocations in a place.
    pub fn bytes_in(&self, place: Place) -> Bytes {
        let here = self.allocations.iter().filter(|allocation| allocation.place == place);
        here.map(|allocation| allocation.bytes).sum()
    }

    /// Bytes of host memory that one pass uses: all of it has to stay in the CPU's caches for the
    /// next pass to find it there.
    pub fn host_footprint(&self) -> Bytes {
        let hosts = self.allocations.iter().filter(|a| matches!(a.place, Place::Host(_)));
        hosts.map(|allocation| allocation.bytes).sum()
    }

    /// For each direction and allocation, whether copies read it on the host, or write it there.
    pub fn copied(&self) -> [Vec<bool>; 2] {
        let mut copied = [(); 2].map(|()| vec![false; self.allocations.len()]);
        for call in &self.body {
            if let Call::Copy { direction, from, to, .. } = call {
                copied[*direction as usize][direction.ashore(from, to).allocation.0] = true;
            }
        }
        copied
    }

    /// Bytes of host memory that copies in the given directions use in a pass.
    pub fn copied_footprint(&self, directions: &[Direction]) -> Bytes {
        let copied = self.copied();
        let is_used = |at: usize| directions.iter().any(|&way| copied[way as usize][at]);
        let used = self.allocations.iter().enumerate().filter(|&(at, _)| is_used(at));
        used.map(|(_, allocation)| allocation.bytes).sum()
    }

    /// Whether the CPU does all the computing. A program that only copies is the GPU's.
    pub fn computes_on_cpu(&self) -> bool {
        let has = |is: fn(&Call) -> bool| self.body.iter().any(is);
        let launches = has(|call| matches!(call, Call::Launch { .. }));
        let computes = has(|call| matches!(call, Call::Compute { .. }));
        !launches && (computes || !self.needs_device())
    }

    /// Whether calls were captured as a graph, which the body launches.
    pub fn has_graphs(&self) -> bool {
        self.body.iter().any(|call| matches!(call, Call::Replay { .. }))
    }

    /// Whether the driver stages any copy of the body.
    pub fn has_staged_copies(&self) -> bool {
        (0..self.body.len()).any(|call| self.is_staged(call))
    }
}
