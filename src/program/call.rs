//! One call of the host, and all that its kind says of it.
//!
//! Readers that treat calls alike ask [`Call::facts`] rather than list the kinds again: a new kind
//! is described here once.

use super::operands::{AllocationId, CopyBy, EventId, Route, Rows, Slice, ThreadId};
use super::step::Step;
use crate::machine::{DeviceId, Direction, Residence, StreamId};
use crate::units::Span;
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
    Clear {
        stream: StreamId,
        target: Slice,
    },
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
    Prefetch {
        stream: StreamId,
        target: Slice,
        to: Residence,
    },
    /// Launch a kernel.
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
    /// Wait on the host until the latest record of an event has happened.
    SynchronizeEvent {
        event: EventId,
    },
    /// Wait on the host until everything issued to the streams of a device is done.
    SynchronizeDevice(DeviceId),
    /// Wait until another host thread has made all of its calls before this one.
    SynchronizeThread(ThreadId),
    /// Make a device's context current. Calls that follow name streams of that device only. The
    /// first device's context is current before the body and after it.
    Use(DeviceId),
    /// Launch the `calls` calls that follow as one [`super::Graph`]. They were captured in the
    /// set-up; the host does not make them one by one.
    Replay {
        stream: StreamId,
        calls: usize,
    },
    /// Work on the host that takes a stated time and touches none of the program's memory.
    Work {
        time: Span,
    },
    /// Do on the host what a kernel does, and wait for it: the CPU twin of a kernel of the library,
    /// on all threads.
    Compute {
        step: Step,
    },
}

impl Call {
    /// Allocates memory outside of any stream.
    pub const fn allocate(allocation: AllocationId) -> Self {
        Self::Allocate { allocation, stream: None }
    }

    /// Copies a whole slice.
    pub const fn copy(by: CopyBy, from: Slice, to: Slice) -> Self {
        Self::Copy { by, from, to, rows: None }
    }

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

    /// What its kind says of it.
    pub fn facts(&self) -> Facts<'_> {
        let none = Facts::default();
        match self {
            Self::Allocate { .. }
            | Self::Pin(_)
            | Self::Renew(_)
            | Self::Free { .. }
            | Self::Unpin(_) => self.facts_of_memory(),
            Self::Clear { target, .. } => {
                Facts { name: "cudaMemsetAsync", to: Some(target), ..none }
            }
            Self::Copy { by, from, to, rows } => {
                let (name, bars) = by.name_and_bars(rows.is_some());
                let is_host_work = matches!(by, CopyBy::Host(_));
                let (from, to) = (Some(from), Some(to));
                Facts { name, is_host_work, from, to, rows: *rows, bars, ..none }
            }
            // What it moves stays as it is.
            Self::Prefetch { target, .. } => Facts {
                name: "cudaMemPrefetchAsync",
                from: Some(target),
                bars: Some("a prefetch of managed memory"),
                ..none
            },
            Self::Launch { step, .. } => {
                Facts { name: "cudaLaunchKernel", step: Some(step), ..none }
            }
            Self::Record { event, .. } => {
                Facts { name: "cudaEventRecord", event: Some(*event), ..none }
            }
            Self::Wait { event, .. } => {
                Facts { name: "cudaStreamWaitEvent", event: Some(*event), ..none }
            }
            Self::Synchronize { .. } => Facts { name: "cudaStreamSynchronize", ..WAITS },
            Self::SynchronizeEvent { event } => {
                Facts { name: "cudaEventSynchronize", event: Some(*event), ..WAITS }
            }
            Self::SynchronizeDevice(device) => {
                Facts { name: "cudaDeviceSynchronize", device: Some(*device), ..WAITS }
            }
            Self::SynchronizeThread(_) => Facts { name: "wait for a thread", ..WAITS },
            Self::Use(device) => Facts {
                name: "cudaSetDevice",
                device: Some(*device),
                bars: Some("switching to another GPU's context"),
                ..none
            },
            Self::Replay { .. } => {
                Facts { name: "cudaGraphLaunch", bars: Some("the launch of another graph"), ..none }
            }
            Self::Work { .. } => {
                let bars = Some("work on the host");
                Facts { name: "work", is_host_work: true, bars, ..none }
            }
            Self::Compute { step } => {
                let bars = Some("a computation on the host");
                Facts { name: "compute", is_host_work: true, step: Some(step), bars, ..none }
            }
        }
    }

    /// What the kind of a call says that takes memory, gives it back or pins it.
    fn facts_of_memory(&self) -> Facts<'_> {
        let (name, id, bars) = match self {
            Self::Allocate { allocation, stream: None } => {
                ("cudaMalloc", allocation, "taking memory")
            }
            Self::Allocate { allocation, .. } => ("cudaMallocAsync", allocation, "taking memory"),
            Self::Pin(id) => ("cudaHostRegister", id, "taking memory"),
            Self::Renew(id) => ("new host memory", id, "taking memory"),
            Self::Free { allocation, stream: None } => ("cudaFree", allocation, "freeing memory"),
            Self::Free { allocation, .. } => ("cudaFreeAsync", allocation, "freeing memory"),
            Self::Unpin(id) => ("cudaHostUnregister", id, "unpinning memory"),
            _ => return Facts::default(),
        };
        let is_host_work = matches!(self, Self::Renew(_));
        Facts { name, is_host_work, allocation: Some(*id), bars: Some(bars), ..Facts::default() }
    }

    /// The stream, the direction and both sides of a copy between host and device.
    pub const fn crossing(&self) -> Option<(StreamId, Direction, &Slice, &Slice)> {
        match self {
            Self::Copy { by: CopyBy::Stream(stream, Route::Crossing(way)), from, to, .. } => {
                Some((*stream, *way, from, to))
            }
            _ => None,
        }
    }

    /// Whether the call changes the contents of an allocation.
    pub fn writes(&self, id: AllocationId) -> bool {
        self.facts().writes().any(|slice| slice.allocation == id)
    }

    /// Whether it launches a kernel.
    pub const fn is_launch(&self) -> bool {
        matches!(self, Self::Launch { .. })
    }

    /// Whether the CPU computes.
    pub const fn is_compute(&self) -> bool {
        matches!(self, Self::Compute { .. })
    }
}

impl CopyBy {
    /// The function that makes the copy, and what keeps it out of a graph.
    const fn name_and_bars(self, has_rows: bool) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Host(_) => ("memcpy", Some("a copy within host memory")),
            Self::Stream(_, Route::ToPeer) => ("cudaMemcpyPeerAsync", Some("a copy between GPUs")),
            Self::Stream(..) if has_rows => ("cudaMemcpy2DAsync", None),
            Self::Stream(..) => ("cudaMemcpyAsync", None),
        }
    }
}

/// What the kind of a call says of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'c> {
    /// The function of the CUDA runtime that makes the call, or what the host does by itself.
    pub name: &'static str,
    /// Whether the host does it by itself, without a call to the driver.
    pub is_host_work: bool,
    /// Whether the host does nothing but wait, for the device or for another thread.
    pub only_waits: bool,
    /// Memory that it takes, pins, renews, unpins or gives back.
    pub allocation: Option<AllocationId>,
    pub from: Option<&'c Slice>,
    pub to: Option<&'c Slice>,
    /// Which bytes of both sides it uses, if not all.
    pub rows: Option<Rows>,
    pub step: Option<&'c Step>,
    pub event: Option<EventId>,
    /// The device whose context it makes current, or that the host waits for.
    pub device: Option<DeviceId>,
    /// What it is that keeps the call out of a graph. (A copy of pageable memory cannot be
    /// captured either, which depends on the program.)
    pub bars: Option<&'static str>,
}

/// A call in which the host does nothing but wait.
const WAITS: Facts<'static> = Facts {
    name: "",
    is_host_work: false,
    only_waits: true,
    allocation: None,
    from: None,
    to: None,
    rows: None,
    step: None,
    event: None,
    device: None,
    bars: Some("a synchronisation"),
};

impl<'c> Facts<'c> {
    /// What the call reads of the program's memory.
    pub fn reads(&self) -> impl Iterator<Item = &'c Slice> + use<'c> {
        self.step.into_iter().flat_map(Step::reads).chain(self.from)
    }

    /// What it leaves results in: of a reduction's workspace, nothing is of use.
    pub fn writes(&self) -> impl Iterator<Item = &'c Slice> + use<'c> {
        self.step.into_iter().flat_map(Step::writes).chain(self.to)
    }
}
