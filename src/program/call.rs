//! One call of the host, and what its kind says: its stream, its kernel, what it waits for, what it
//! does to memory, the function that makes it, why a graph cannot contain it.
//!
//! Readers ask these questions rather than list the kinds again: a new kind answers them here once.

use super::operands::{
    AllocationId, Awaited, CopyBy, EventId, MemoryChange, Route, Rows, Sides, Slice, ThreadId,
    Threads,
};
use super::step::Step;
use crate::machine::{DeviceId, Direction, Residence, StreamId};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// One call of the host thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Call {
    /// Allocate memory for the program's own use: device memory in the order of a stream, if one is
    /// named.
    Allocate {
        allocation: AllocationId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamId>,
    },
    /// Page-lock host memory that exists already.
    Pin(AllocationId),
    /// Give host memory back and take new, untouched pages for it.
    Renew(AllocationId),
    /// Give memory of the program's own back; in the order of a stream, if it was allocated in one.
    Free {
        allocation: AllocationId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamId>,
    },
    /// Release the page-lock of host memory that was pinned where it is.
    Unpin(AllocationId),
    /// Zero device memory.
    Clear { stream: StreamId, target: Slice },
    /// Copy a slice, or rows in it that lie apart.
    Copy {
        by: CopyBy,
        from: Slice,
        to: Slice,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<Rows>,
    },
    /// Move pages of managed memory to a side, if they are not there: to the stream's device, or to
    /// the host.
    Prefetch { stream: StreamId, target: Slice, to: Residence },
    /// Launch a kernel.
    Launch { stream: StreamId, step: Step },
    /// Record an event in a stream.
    Record { stream: StreamId, event: EventId },
    /// Have a stream wait for an event.
    Wait { stream: StreamId, event: EventId },
    /// Wait on the host until everything issued to the stream is done.
    Synchronize { stream: StreamId },
    /// Wait on the host until the latest record of an event has happened.
    SynchronizeEvent { event: EventId },
    /// Wait on the host until everything issued to the streams of a device is done.
    SynchronizeDevice(DeviceId),
    /// Wait until another host thread has made all of its calls before this one.
    SynchronizeThread(ThreadId),
    /// Make a device's context current. Calls that follow name streams of that device only. The
    /// first device's context is current before the body and after it.
    Use(DeviceId),
    /// Launch the `calls` calls that follow as one [`super::Graph`]. They were captured in the
    /// set-up; the host does not make them one by one.
    Replay { stream: StreamId, calls: usize },
    /// Work on the host that takes a stated time and touches none of the program's memory.
    Work { time: Span },
    /// Do on the host what a kernel does, and wait for it: the CPU twin of a kernel of the library,
    /// on all threads.
    Compute { step: Step },
}

impl Call {
    /// The stream that the call is about, if it is about one.
    pub const fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Allocate { stream, .. } | Self::Free { stream, .. } => *stream,
            Self::Clear { stream, .. }
            | Self::Copy { by: CopyBy::Stream(stream, _), .. }
            | Self::Prefetch { stream, .. }
            | Self::Launch { stream, .. }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::Replay { stream, .. }
            | Self::Synchronize { stream } => Some(*stream),
            Self::Pin(_)
            | Self::Renew(_)
            | Self::Unpin(_)
            | Self::Copy { by: CopyBy::Host(_), .. }
            | Self::SynchronizeEvent { .. }
            | Self::SynchronizeDevice(_)
            | Self::SynchronizeThread(_)
            | Self::Use(_)
            | Self::Work { .. }
            | Self::Compute { .. } => None,
        }
    }

    /// Whether it launches a kernel.
    pub const fn is_launch(&self) -> bool {
        matches!(self, Self::Launch { .. })
    }

    /// Whether the CPU computes.
    pub const fn is_compute(&self) -> bool {
        matches!(self, Self::Compute { .. })
    }

    /// Whether the device zeroes memory: to the device, that is a kernel.
    pub const fn is_clear(&self) -> bool {
        matches!(self, Self::Clear { .. })
    }

    /// Whether the CPU works on the program's memory: it computes or copies.
    pub const fn works_on_cpu(&self) -> bool {
        matches!(self, Self::Compute { .. } | Self::Copy { by: CopyBy::Host(_), .. })
    }

    /// Which threads of the CPU do so, in a program that uses so much host memory in a pass.
    pub fn cpu_threads(&self, footprint: Bytes) -> Option<Threads> {
        match self {
            Self::Compute { step } if step.is_shared(footprint) => Some(Threads::All),
            Self::Compute { .. } => Some(Threads::One),
            Self::Copy { by: CopyBy::Host(threads), .. } => Some(*threads),
            _ => None,
        }
    }

    /// The memory that it takes, gives back, pins, unpins or renews.
    pub fn allocation(&self) -> Option<AllocationId> {
        self.memory_change().map(|(id, _)| id)
    }

    /// Whether the host does nothing but wait, for the device or for another thread.
    pub const fn only_waits(&self) -> bool {
        self.awaited().is_some()
    }

    /// Whether the host does it by itself, without a call to the driver.
    pub const fn is_host_work(&self) -> bool {
        self.works_on_cpu() || matches!(self, Self::Renew(_) | Self::Work { .. })
    }

    /// The function of the CUDA runtime that makes the call, or what the host does by itself.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allocate { stream: None, .. } => "cudaMalloc",
            Self::Allocate { .. } => "cudaMallocAsync",
            Self::Pin(_) => "cudaHostRegister",
            Self::Renew(_) => "new host memory",
            Self::Free { stream: None, .. } => "cudaFree",
            Self::Free { .. } => "cudaFreeAsync",
            Self::Unpin(_) => "cudaHostUnregister",
            Self::Clear { .. } => "cudaMemsetAsync",
            Self::Copy { by: CopyBy::Host(_), .. } => "memcpy",
            Self::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. } => "cudaMemcpyPeerAsync",
            Self::Copy { rows: Some(_), .. } => "cudaMemcpy2DAsync",
            Self::Copy { .. } => "cudaMemcpyAsync",
            Self::Prefetch { .. } => "cudaMemPrefetchAsync",
            Self::Launch { .. } => "cudaLaunchKernel",
            Self::Record { .. } => "cudaEventRecord",
            Self::Wait { .. } => "cudaStreamWaitEvent",
            Self::Synchronize { .. } => "cudaStreamSynchronize",
            Self::SynchronizeEvent { .. } => "cudaEventSynchronize",
            Self::SynchronizeDevice(_) => "cudaDeviceSynchronize",
            Self::SynchronizeThread(_) => "wait for a thread",
            Self::Use(_) => "cudaSetDevice",
            Self::Replay { .. } => "cudaGraphLaunch",
            Self::Work { .. } => "work",
            Self::Compute { .. } => "compute",
        }
    }

    /// What it is that keeps the call out of a graph. (A copy of pageable memory cannot be captured
    /// either, which depends on the program.)
    pub const fn bars(&self) -> Option<&'static str> {
        Some(match self {
            Self::Allocate { .. } | Self::Pin(_) | Self::Renew(_) => "memory allocation",
            Self::Free { .. } => "freeing memory",
            Self::Unpin(_) => "unpinning memory",
            Self::Copy { by: CopyBy::Host(_), .. } => "a copy within host memory",
            Self::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. } => "a copy between GPUs",
            Self::Prefetch { .. } => "a prefetch of managed memory",
            Self::Use(_) => "switching to another GPU's context",
            Self::Replay { .. } => "the launch of another graph",
            Self::Work { .. } => "work on the host",
            Self::Compute { .. } => "a computation on the host",
            _ if self.only_waits() => "a synchronisation",
            _ => return None,
        })
    }

    /// The memory that it goes from and to.
    pub fn sides(&self) -> Sides<'_> {
        match self {
            Self::Copy { by, from, to, rows } => {
                Sides { by: Some(*by), from: Some(from), to: Some(to), rows: *rows }
            }
            Self::Clear { target, .. } => Sides { to: Some(target), ..Sides::default() },
            Self::Prefetch { target, .. } => Sides { from: Some(target), ..Sides::default() },
            _ => Sides::default(),
        }
    }

    /// The call in another stream. Calls that go into no stream, and those about events, stay as
    /// they are.
    #[must_use]
    pub fn in_stream(mut self, to: StreamId) -> Self {
        match &mut self {
            Self::Clear { stream, .. }
            | Self::Copy { by: CopyBy::Stream(stream, _), .. }
            | Self::Launch { stream, .. } => *stream = to,
            _ => {}
        }
        self
    }

    /// Changes every range of memory that the call names. All kinds are listed, so the compiler
    /// asks about a new one: forgotten here, it would go on using the old memory.
    pub fn redirect(&mut self, change: &dyn Fn(&mut Slice)) {
        match self {
            Self::Copy { from, to, .. } => [from, to].into_iter().for_each(change),
            Self::Clear { target, .. } | Self::Prefetch { target, .. } => change(target),
            Self::Launch { step, .. } | Self::Compute { step } => match step {
                Step::Library(step) => {
                    step.inputs.iter_mut().for_each(change);
                    change(&mut step.output);
                    step.workspace.iter_mut().for_each(change);
                }
                Step::Own(step) => {
                    step.reads.iter_mut().chain(&mut step.writes).for_each(change);
                }
            },
            Self::Allocate { .. }
            | Self::Pin(_)
            | Self::Renew(_)
            | Self::Free { .. }
            | Self::Unpin(_)
            | Self::Record { .. }
            | Self::Wait { .. }
            | Self::Synchronize { .. }
            | Self::SynchronizeEvent { .. }
            | Self::SynchronizeDevice(_)
            | Self::SynchronizeThread(_)
            | Self::Use(_)
            | Self::Replay { .. }
            | Self::Work { .. } => {}
        }
    }

    /// The step that it launches, to be changed.
    pub const fn launched_mut(&mut self) -> Option<&mut Step> {
        match self {
            Self::Launch { step, .. } => Some(step),
            _ => None,
        }
    }

    /// How many calls it launches as a graph, to be changed.
    pub const fn launched_calls_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Replay { calls, .. } => Some(calls),
            _ => None,
        }
    }
}

/// Makes a question of each entry: what calls of some kinds say, and `None` for all others.
macro_rules! questions {
    ($($(#[$about:meta])* $question:ident: $Answer:ty { $($kind:pat => $answer:expr,)+ })+) => {
        impl Call { $(
            $(#[$about])*
            pub const fn $question(&self) -> Option<$Answer> {
                match self { $($kind => Some($answer),)+ _ => None }
            }
        )+ }
    };
}

questions! {
    /// The kernel that it runs, on the device or on the CPU.
    step: &Step { Self::Launch { step, .. } | Self::Compute { step } => step, }
    /// The stream and the kernel that it launches there.
    launched: (StreamId, &Step) { Self::Launch { stream, step } => (*stream, step), }
    /// The kernel whose twin the CPU computes.
    computed: &Step { Self::Compute { step } => step, }
    /// The stream and the route of a copy that a device makes.
    route: (StreamId, Route) {
        Self::Copy { by: CopyBy::Stream(stream, route), .. } => (*stream, *route),
    }
    /// The stream, the direction and both sides of a copy between host and device.
    crossing: (StreamId, Direction, &Slice, &Slice) {
        Self::Copy { by: CopyBy::Stream(stream, Route::Crossing(way)), from, to, .. } =>
            (*stream, *way, from, to),
    }
    /// Both sides of a copy within host memory.
    host_copy: [Slice; 2] { Self::Copy { by: CopyBy::Host(_), from, to, .. } => [*from, *to], }
    /// The side to which it moves pages of managed memory.
    prefetches_to: Residence { Self::Prefetch { to, .. } => *to, }
    /// The memory that it takes, gives back, pins, unpins or renews, and which of these it does.
    memory_change: (AllocationId, MemoryChange) {
        Self::Allocate { allocation, .. } => (*allocation, MemoryChange::Allocate),
        Self::Free { allocation, .. } => (*allocation, MemoryChange::Free),
        Self::Pin(id) => (*id, MemoryChange::Pin),
        Self::Unpin(id) => (*id, MemoryChange::Unpin),
        Self::Renew(id) => (*id, MemoryChange::Renew),
    }
    /// The memory that it pins where it is.
    pinned: AllocationId { Self::Pin(id) => *id, }
    /// The value of each byte of the memory that it fills.
    fills_with: u8 { Self::Clear { .. } => 0, }
    /// The event that it records or waits for.
    event: EventId {
        Self::Record { event, .. } | Self::Wait { event, .. } => *event,
        Self::SynchronizeEvent { event } => *event,
    }
    /// The event that its stream records.
    recorded: EventId { Self::Record { event, .. } => *event, }
    /// The event that its stream waits for.
    stream_waits_for: EventId { Self::Wait { event, .. } => *event, }
    /// The device whose context it makes current, or that the host waits for.
    device: DeviceId { Self::Use(device) | Self::SynchronizeDevice(device) => *device, }
    /// What the host waits for in a call that does nothing else.
    awaited: Awaited {
        Self::Synchronize { stream } => Awaited::Stream(*stream),
        Self::SynchronizeEvent { event } => Awaited::Event(*event),
        Self::SynchronizeDevice(device) => Awaited::Device(*device),
        Self::SynchronizeThread(thread) => Awaited::Thread(*thread),
    }
    /// The stated time of work that touches none of the program's memory.
    stated_time: Span { Self::Work { time } => *time, }
    /// How many of the calls that follow it launches as a graph.
    launched_calls: usize { Self::Replay { calls, .. } => *calls, }
}
