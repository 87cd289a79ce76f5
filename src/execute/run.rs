//! Running plans: each by itself, or several in turn.

use super::effort::Effort;
use super::error::Executed;
use super::executor::Executor;
use super::stage::Stage;
use crate::gpu::{AnyDevice, Device};
use crate::host::OneCpu;
use crate::program::Program;
use crate::runs::{Run, Trace};

impl<D: AnyDevice> Executor<'_, D> {
    /// Runs a plan repeatedly and checks what it computes.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice, or an output is wrong.
    pub fn run(&self, program: &Program, effort: Effort) -> Executed<Run> {
        let mut plans = self.set_up(std::slice::from_ref(program), effort)?;
        while plans.turn()? {}
        Ok(plans.finish()?.remove(0))
    }

    /// Sets up several plans at once, to be run turn by turn.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice for all plans together, or an output is wrong.
    pub fn set_up<'s>(
        &'s self,
        programs: &'s [Program],
        effort: Effort,
    ) -> Executed<InTurn<'s, D>> {
        let _cpu = OneCpu::quietest();
        let stages = programs.iter().map(|program| Stage::new(self, program));
        Ok(InTurn { stages: stages.collect::<Result<_, _>>()?, effort, turns: 0 })
    }

    /// Runs a plan with each call timed.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice, or an output is wrong.
    pub fn trace(&self, program: &Program) -> Executed<Trace> {
        let mut cpu = OneCpu::quietest();
        Stage::new(self, program)?.trace(&mut cpu)
    }
}

/// Plans of a workload that are set up and take turns. The time of driver calls differs
/// by a tenth from CPU to CPU, and from second to second. So a plan that gets little time
/// is better run on several CPUs and at several moments, with other plans in between.
pub struct InTurn<'a, D: AnyDevice = Device> {
    stages: Vec<Stage<'a, D>>,
    effort: Effort,
    /// How many turns the plans have had.
    turns: usize,
}

impl<D: AnyDevice> InTurn<'_, D> {
    /// Gives each plan a turn and returns true, or returns false if they have had all.
    ///
    /// # Errors
    /// If a call fails.
    pub fn turn(&mut self) -> Executed<bool> {
        if self.turns == self.effort.turns {
            return Ok(false);
        }
        let mut cpu = OneCpu::quietest();
        let mut stages = self.stages.iter_mut();
        stages.try_for_each(|stage| stage.turn(self.turns, self.effort, &mut cpu))?;
        self.turns += 1;
        Ok(true)
    }

    /// Checks the outputs once more, and returns the run of each plan.
    ///
    /// # Errors
    /// If an output is wrong, or a call fails.
    pub fn finish(self) -> Executed<Vec<Run>> {
        self.stages.into_iter().map(|stage| stage.finish(self.effort)).collect()
    }
}
