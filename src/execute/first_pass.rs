//! What a plan takes before and in its first pass, in a process that has run no plan before.

use super::error::Executed;
use super::executor::Executor;
use super::memory::Pages;
use super::stage::Stage;
use crate::gpu::AnyDevice;
use crate::host::OneCpu;
use crate::program::Program;
use crate::units::Span;
use std::time::Duration;

/// Passes after the first one: as many as fit into [`LATER`], within these limits.
const FEWEST: usize = 3;
const MOST: usize = 15;
const LATER: Duration = Duration::from_millis(300);

/// What a plan takes before and in its first pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstPass {
    /// Streams and events, the calls of the set-up, and the graphs.
    pub setup: Span,
    /// Looking up the kernels, which loads their code, and the first pass.
    pub first: Span,
    /// The median of a few passes after that.
    pub later: Span,
}

impl<D: AnyDevice> Executor<'_, D> {
    /// Sets a plan up, and times that, its first pass and a few more. The workload's buffers exist
    /// before, with what they hold. Only those in host memory that the plan writes before anybody
    /// reads them have new pages: whoever touches them first pays for that. The outputs of a last
    /// pass are checked.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice, or an output is wrong.
    pub fn first_pass(&self, program: &Program) -> Executed<FirstPass> {
        let _cpu = OneCpu::quietest();
        let mut stage = Stage::set_up(self, program, Pages::New)?;
        let first = stage.pass()?;
        let (mut later, mut all) = (Vec::new(), Duration::ZERO);
        while later.len() < FEWEST || (all < LATER && later.len() < MOST) {
            let pass = stage.pass()?;
            all += Duration::from_nanos(pass.nanos());
            later.push(pass);
        }
        stage.checked_pass()?;
        let took = stage.took();
        let (setup, first) = (took.handles + took.setup, took.body + first);
        later.sort_unstable();
        Ok(FirstPass { setup, first, later: later[later.len() / 2] })
    }
}
