//! Which of two plans is the simpler one.

use super::candidates::Plan;
use crate::families::Strategy;
use crate::program::Call;
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
    /// None of a program that the scenario spells out.
    pub strategy: Option<Strategy>,
}

impl Simplicity {
    pub fn of(plan: &Plan) -> Self {
        let Plan { strategy, program } = plan;
        Self {
            gpus: program.devices(),
            streams: program.streams.len(),
            events: program.events,
            pinned: program.pinned_bytes(),
            chunks: strategy.map_or(1, |strategy| strategy.family.chunks()),
            graphs: program.body.iter().filter_map(Call::launched_calls).count(),
            device_memory: program.device_bytes(),
            calls: program.body.len(),
            strategy: *strategy,
        }
    }
}
