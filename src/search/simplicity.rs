//! Which of two plans is the simpler one.

use crate::plan::{Call, Place, Plan, Strategy};
use crate::scenario::HostMemory;
use crate::units::Bytes;

/// How much there is to write, to debug and to keep in memory. Less is simpler.
///
/// Fields are compared in their order, and the strategy comes last: no two candidates of a
/// workload are equally simple, so a choice by simplicity depends on no seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simplicity {
    pub gpus: usize,
    pub streams: usize,
    pub events: usize,
    /// Page-locked host memory is taken from everybody on the host.
    pub pinned: Bytes,
    /// Pieces of one batch.
    pub chunks: u64,
    pub graphs: usize,
    pub device_memory: Bytes,
    /// Calls of one pass.
    pub calls: usize,
    pub strategy: Strategy,
}

impl Simplicity {
    pub fn of(plan: &Plan) -> Self {
        Self {
            gpus: plan.devices(),
            streams: plan.streams.len(),
            events: plan.events,
            pinned: plan.bytes_in(Place::Host(HostMemory::Pinned)),
            chunks: plan.strategy.family.chunks(),
            graphs: plan.body.iter().filter(|call| matches!(call, Call::Replay { .. })).count(),
            device_memory: plan.device_bytes(),
            calls: plan.body.len(),
            strategy: plan.strategy,
        }
    }
}
