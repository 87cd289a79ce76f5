//! Running plans: each by itself, or several in turn.

use super::data::{Contents, Mismatch};
use super::stage::Stage;
use crate::gpu::{Device, GpuError};
use crate::host::{HostError, OneCpu, Team};
use crate::plan::{DoesNotFit, Plan};
use crate::runs::{Run, Trace};
use crate::scenario::Workload;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("`{plan}` {source}")]
    DoesNotFit { plan: String, source: DoesNotFit },
    #[error("this plan needs a GPU")]
    NeedsDevice,
}

/// Runs plans of one workload on one machine.
pub struct Executor<'a> {
    pub(super) device: Option<&'a Device>,
    pub(super) team: &'a Team,
    pub(super) workload: &'a Workload,
    pub(super) before: Contents,
    pub(super) after: Contents,
}

/// How long a plan is run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Plans that are run together take turns so often; all else is of a turn. Where a turn
    /// is too short for the passes of a warm-up, a plan has the time of several at once.
    pub turns: usize,
    /// Before timing starts, clocks rise and page tables fill.
    pub(super) warm_up: Duration,
    /// Instead, of a plan for the CPU alone: clocks of a core that it comes to anew rise for longer
    /// than calls show. (On hosts of H100s, sums of 0.8 us took 0.9 behind one millisecond.) And of
    /// one with steps that threads share out: those that have slept wake up where the system put
    /// them, perhaps two on a core, and it takes a while to move one.
    pub(super) compute_warm_up: Duration,
    /// The CPU's last-level cache takes a score of passes to learn what is worth keeping; plans
    /// whose data the CPU does not go through need fewer.
    pub(super) warm_up_passes: usize,
    /// What takes longer than this has forgotten at the end of a pass how it began.
    pub(super) longest_warm_up: Duration,
    /// Timed passes stop after this time or the largest number, but not before
    /// the fewest.
    pub(super) timed: Duration,
    pub(super) fewest: usize,
    pub(super) most: usize,
}

impl Effort {
    pub const FULL: Self = Self {
        turns: 1,
        warm_up: Duration::from_millis(60),
        compute_warm_up: Duration::from_millis(60),
        warm_up_passes: 20,
        longest_warm_up: Duration::from_secs(5),
        timed: Duration::from_millis(120),
        fewest: 7,
        most: 101,
    };
    /// Where many plans matter more than one. What a plan takes of some microseconds differs by
    /// 7% from turn to turn in the middle, and by 2% within one: many short turns tell more. With
    /// two rounds of 16, a half of all passes differed by 1.3 to 2.6% from the other.
    pub const SHORT: Self = Self {
        turns: 24,
        warm_up: Duration::from_millis(1),
        compute_warm_up: Duration::from_millis(3),
        longest_warm_up: Duration::from_millis(3),
        timed: Duration::from_micros(500),
        fewest: 1,
        most: 3,
        ..Self::FULL
    };

    /// How many turns a plan has at once whose passes last so long: so many that none are
    /// left over in the end.
    pub(super) fn at_once(&self, pass: Duration) -> usize {
        let warm_up = pass.as_secs_f64() * self.warm_up_passes as f64;
        let turns = (warm_up / self.longest_warm_up.as_secs_f64()).ceil() as usize;
        let mut whole =
            (turns.max(1)..self.turns).filter(|&turns| self.turns.is_multiple_of(turns));
        whole.next().unwrap_or(self.turns)
    }

    /// What so many turns at once come to: whoever has several needs half as many passes for
    /// a middle, and is long enough to take time from all others.
    pub(super) fn times(self, turns: usize) -> Self {
        let longer = |time: Duration| time * u32::try_from(turns).unwrap_or(u32::MAX);
        Self {
            longest_warm_up: longer(self.longest_warm_up),
            timed: longer(self.timed),
            fewest: if turns > 1 { (self.fewest * turns).div_ceil(2) } else { self.fewest },
            most: self.most * turns,
            ..self
        }
    }
}

impl<'a> Executor<'a> {
    /// Draws inputs and computes what the outputs must be.
    pub fn new(
        device: Option<&'a Device>,
        team: &'a Team,
        workload: &'a Workload,
        seed: u64,
    ) -> Self {
        // Outputs are checked with all threads. Whoever is started while the issuing thread
        // keeps to one CPU keeps to it, too.
        rayon::current_num_threads();
        let before = Contents::random(workload, team, seed);
        let after = before.computed(workload, team);
        Self { device, team, workload, before, after }
    }

    /// Runs a plan repeatedly and checks what it computes.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice, or an output is wrong.
    pub fn run(&self, plan: &Plan, effort: Effort) -> Result<Run, ExecuteError> {
        let mut plans = self.set_up(std::slice::from_ref(plan), effort)?;
        while plans.turn()? {}
        Ok(plans.finish()?.remove(0))
    }

    /// Sets plans up, all at once, to be run turn by turn.
    ///
    /// # Errors
    /// As for [`Executor::run`], or if memory does not suffice for all of them.
    pub fn set_up<'s>(
        &'s self,
        plans: &'s [Plan],
        effort: Effort,
    ) -> Result<InTurn<'s>, ExecuteError> {
        let _cpu = OneCpu::quietest();
        let stages = plans.iter().map(|plan| Stage::new(self, plan));
        Ok(InTurn { stages: stages.collect::<Result<_, _>>()?, effort, turns: 0 })
    }

    /// Runs a plan with a clock on every call.
    ///
    /// # Errors
    /// As for [`Executor::run`].
    pub fn trace(&self, plan: &Plan) -> Result<Trace, ExecuteError> {
        let mut cpu = OneCpu::quietest();
        Stage::new(self, plan)?.trace(&mut cpu)
    }
}

/// Plans of a workload that are set up. What driver calls take differs by a tenth from CPU to
/// CPU, and from second to second: a plan that is run for a short time is better run at
/// several, and others, of this workload or another, meanwhile.
pub struct InTurn<'a> {
    stages: Vec<Stage<'a>>,
    effort: Effort,
    /// Those they have had.
    turns: usize,
}

impl InTurn<'_> {
    /// Gives each plan a turn, unless they have had all; whether it did.
    ///
    /// # Errors
    /// If a call fails.
    pub fn turn(&mut self) -> Result<bool, ExecuteError> {
        if self.turns == self.effort.turns {
            return Ok(false);
        }
        let mut cpu = OneCpu::quietest();
        let mut stages = self.stages.iter_mut();
        stages.try_for_each(|stage| stage.turn(self.turns, self.effort, &mut cpu))?;
        self.turns += 1;
        Ok(true)
    }

    /// What came of it, plan by plan.
    ///
    /// # Errors
    /// If an output is wrong.
    pub fn finish(self) -> Result<Vec<Run>, ExecuteError> {
        self.stages.into_iter().map(|stage| stage.finish(self.effort)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warm-up has 3 ms in a turn: twenty passes, here.
    #[test]
    fn longer_plans_have_several_turns_at_once() {
        let at_once = |micros| Effort::SHORT.at_once(Duration::from_micros(micros));
        assert_eq!([0, 20, 150, 151, 300].map(at_once), [1, 1, 1, 2, 2]);
        // Three and four come out even, five do not; nor nine.
        assert_eq!([301, 600, 601, 1_200, 1_201].map(at_once), [3, 4, 6, 8, 12]);
        // All of them, however long it is; and a single turn is all there is to have.
        assert_eq!(at_once(1_000_000), 24);
        assert_eq!(Effort::FULL.at_once(Duration::from_secs(9)), 1);
        let Effort { longest_warm_up, timed, fewest, most, .. } = Effort::SHORT.times(4);
        assert_eq!((longest_warm_up, timed), (Duration::from_millis(12), Duration::from_millis(2)));
        assert_eq!((fewest, most), (2, 12));
        assert_eq!(Effort::FULL.times(1).fewest, Effort::FULL.fewest);
    }
}
