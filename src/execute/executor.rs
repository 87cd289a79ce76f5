//! What the plans of one workload run with.

use super::data::Contents;
use super::error::Executed;
use super::interleave::in_plain_order;
use super::one_stream::on_one_stream;
use crate::gpu::{AnyDevice, Device};
use crate::host::Team;
use crate::program::Program;
use crate::scenario::{Task, Workload};
use std::borrow::Cow;

/// Runs the plans of one workload on one machine, and checks their outputs. The device is a GPU of
/// any vendor.
pub struct Executor<'a, D = Device> {
    pub(super) device: Option<&'a D>,
    pub(super) team: &'a Team,
    pub(super) workload: &'a Workload,
    before: Contents,
    after: Contents,
    seed: u64,
}

/// What the buffers hold before a program, and must hold after it.
pub(super) struct Expected<'e> {
    pub before: Cow<'e, Contents>,
    pub after: Cow<'e, Contents>,
}

impl<'a, D: AnyDevice> Executor<'a, D> {
    /// Draws the inputs and computes what the outputs must be.
    pub fn new(device: Option<&'a D>, team: &'a Team, workload: &'a Workload, seed: u64) -> Self {
        // Starts rayon's threads, which check the outputs. Threads that are started while
        // the issuing thread is pinned to a CPU would inherit that affinity.
        rayon::current_num_threads();
        let before = Contents::random(workload, team, seed);
        let after = before.computed(workload, team);
        Self { device, team, workload, before, after, seed }
    }

    /// What a program starts from, and must come to. A program that the scenario spells out may
    /// read any buffer. It must come to what its own calls do one after the other, and so must one
    /// with a user's own kernels.
    ///
    /// # Errors
    /// Where only the device can tell: if it fails.
    pub(super) fn expected(&self, program: &Program) -> Executed<Expected<'_>> {
        let spelled_out = self.workload.spells_out(program);
        let is_own = |task: &Task| task.kernel.own_work().is_some();
        if !spelled_out && !self.workload.tasks.iter().any(is_own) {
            let (before, after) = (Cow::Borrowed(&self.before), Cow::Borrowed(&self.after));
            return Ok(Expected { before, after });
        }
        let before = match spelled_out {
            true => Contents::all_random(self.workload, self.team, self.seed),
            false => self.before.clone(),
        };
        let after = match program.own_steps().next() {
            _ if !program.stood_in_for().is_empty() => before.clone(),
            // No twin says what a user's kernel computes.
            Some(_) => on_one_stream((self.device, self.team), (self.workload, program), &before)?,
            None => in_plain_order(program, &before, self.team),
        };
        Ok(Expected { before: Cow::Owned(before), after: Cow::Owned(after) })
    }
}
