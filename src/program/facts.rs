//! What the kind of a call says of it: the function that makes it, and the operands that it names.

use super::call::{Call, MemoryChange};
use super::operands::{AllocationId, CopyBy, Route, Rows, Slice};
use super::step::Step;
use crate::machine::DeviceId;

/// What the kind of a call says of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'c> {
    /// The function of the CUDA runtime that makes the call, or what the host does by itself.
    pub name: &'static str,
    /// Memory that it takes, pins, renews, unpins or gives back.
    pub allocation: Option<AllocationId>,
    /// Who makes a copy.
    pub by: Option<CopyBy>,
    pub from: Option<&'c Slice>,
    pub to: Option<&'c Slice>,
    /// Which bytes of both sides it uses, if not all.
    pub rows: Option<Rows>,
    pub step: Option<&'c Step>,
    /// The device whose context it makes current, or that the host waits for.
    pub device: Option<DeviceId>,
    /// What it is that keeps the call out of a graph. (A copy of pageable memory cannot be
    /// captured either, which depends on the program.)
    pub bars: Option<&'static str>,
}

impl Call {
    /// What its kind says of it.
    pub fn facts(&self) -> Facts<'_> {
        let none = Facts::default();
        let waits = Facts { bars: Some("a synchronisation"), ..none };
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
                let (from, to) = (Some(from), Some(to));
                Facts { name, by: Some(*by), from, to, rows: *rows, bars, ..none }
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
            Self::Record { .. } => Facts { name: "cudaEventRecord", ..none },
            Self::Wait { .. } => Facts { name: "cudaStreamWaitEvent", ..none },
            Self::Synchronize { .. } => Facts { name: "cudaStreamSynchronize", ..waits },
            Self::SynchronizeEvent { .. } => Facts { name: "cudaEventSynchronize", ..waits },
            Self::SynchronizeDevice(device) => {
                Facts { name: "cudaDeviceSynchronize", device: Some(*device), ..waits }
            }
            Self::SynchronizeThread(_) => Facts { name: "wait for a thread", ..waits },
            Self::Use(device) => Facts {
                name: "cudaSetDevice",
                device: Some(*device),
                bars: Some("switching to another GPU's context"),
                ..none
            },
            Self::Replay { .. } => {
                Facts { name: "cudaGraphLaunch", bars: Some("the launch of another graph"), ..none }
            }
            Self::Work { .. } => Facts { name: "work", bars: Some("work on the host"), ..none },
            Self::Compute { step } => {
                let bars = Some("a computation on the host");
                Facts { name: "compute", step: Some(step), bars, ..none }
            }
        }
    }

    /// What the kind of a call says that takes memory, gives it back or pins it.
    fn facts_of_memory(&self) -> Facts<'_> {
        let Some((id, change)) = self.memory_change() else { return Facts::default() };
        let (name, bars) = match (change, self.stream()) {
            (MemoryChange::Allocate, None) => ("cudaMalloc", "taking memory"),
            (MemoryChange::Allocate, Some(_)) => ("cudaMallocAsync", "taking memory"),
            (MemoryChange::Pin, _) => ("cudaHostRegister", "taking memory"),
            (MemoryChange::Renew, _) => ("new host memory", "taking memory"),
            (MemoryChange::Free, None) => ("cudaFree", "freeing memory"),
            (MemoryChange::Free, Some(_)) => ("cudaFreeAsync", "freeing memory"),
            (MemoryChange::Unpin, _) => ("cudaHostUnregister", "unpinning memory"),
        };
        Facts { name, allocation: Some(id), bars: Some(bars), ..Facts::default() }
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
