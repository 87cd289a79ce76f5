//! What the plans of one workload run with.

use super::data::Contents;
use crate::gpu::Device;
use crate::host::Team;
use crate::scenario::Workload;

/// Runs the plans of one workload on one machine, and checks their outputs.
pub struct Executor<'a> {
    pub(super) device: Option<&'a Device>,
    pub(super) team: &'a Team,
    pub(super) workload: &'a Workload,
    pub(super) before: Contents,
    pub(super) after: Contents,
}

impl<'a> Executor<'a> {
    /// Draws the inputs and computes what the outputs must be.
    pub fn new(
        device: Option<&'a Device>,
        team: &'a Team,
        workload: &'a Workload,
        seed: u64,
    ) -> Self {
        // Starts rayon's threads, which check the outputs. Threads that are started while
        // the issuing thread is pinned to a CPU would inherit that affinity.
        rayon::current_num_threads();
        let before = Contents::random(workload, team, seed);
        let after = before.computed(workload, team);
        Self { device, team, workload, before, after }
    }
}
