//! Trials: plans of small random workloads, run along with each pass of a calibration. They say how
//! far off predictions are.
//!
//! A [`Runner`](super::Runner) gives a plan all its turns at once. The turns of a trial are spread
//! over the whole pass instead, so that it meets the machine as the measurements do.

use super::drawn::chosen;
use super::random_scenario::trial_scenarios;
use crate::execute::{Effort, ExecuteError, Executor, InTurn};
use crate::gpu::{AnyDevice, Device};
use crate::host::Team;
use crate::program::Program;
use crate::samples::{CalibrationExtent, Provenance, Recorder, Samples, Trial};
use crate::scenario::Workload;
use crate::search::{Plan, candidates};
use crate::units::Span;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use std::io::Write;

/// How many workloads are tried. A quick calibration has no time for any.
const fn workloads(extent: CalibrationExtent) -> usize {
    match extent {
        CalibrationExtent::Full | CalibrationExtent::Elsewhere => 24,
        CalibrationExtent::Quick => 0,
    }
}

/// A trial whose plan did not run, or computed a wrong result.
#[derive(Debug, thiserror::Error)]
#[error("trial `{workload}`: {source}")]
pub struct TrialError {
    pub workload: String,
    pub source: ExecuteError,
}

/// The trials of a machine. They are run in several rounds with memory allocated anew, because
/// where memory happens to lie makes a plan up to 3% faster in one round than in another, however
/// long each runs.
pub struct Trials<'a, D = Device> {
    device: &'a D,
    team: &'a Team,
    seed: u64,
    planned: Vec<Planned>,
}

impl<'a, D: AnyDevice> Trials<'a, D> {
    /// The trials of a calibration, drawn with its seed.
    pub fn new(machine: &Provenance, device: &'a D, team: &'a Team) -> Self {
        let seed = machine.seed;
        Self { device, team, seed, planned: planned(workloads(machine.extent), seed) }
    }

    /// Runs a round of all plans while `along` does other work: `along` gets the round and calls
    /// its steps in between. When `along` has ended well, the steps that are left follow.
    ///
    /// # Errors
    /// Those of `along`. A step fails if a plan does not run or computes a wrong result.
    pub fn round<T, E: From<TrialError>>(
        &mut self,
        along: impl FnOnce(&mut Round<'_, D>) -> Result<T, E>,
    ) -> Result<T, E> {
        let Self { device, team, seed, planned } = self;
        let workloads = planned.iter().map(|planned| &planned.workload);
        let executors: Vec<Executor<'_, D>> =
            workloads.map(|one| Executor::new(Some(*device), team, one, *seed)).collect();
        let mut round = Round {
            planned,
            executors: &executors,
            set_up: executors.iter().map(|_| None).collect(),
            steps: 0,
            times: Vec::new(),
        };
        let came_of_it = along(&mut round)?;
        while round.step()? {}
        let times = std::mem::take(&mut round.times);
        drop(round);
        drop(executors);
        let trials = planned.iter_mut().flat_map(|planned| &mut planned.trials);
        for (trial, [passes, beside]) in trials.zip(times) {
            trial.passes.extend(passes);
            trial.in_first.get_or_insert(trial.passes.len());
            trial.beside.extend(beside);
        }
        Ok(came_of_it)
    }

    /// Adds the trials to the samples of everything else, and writes the trials.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish<W: Write>(
        self,
        mut samples: Samples,
        recorder: &mut Recorder<W>,
    ) -> std::io::Result<Samples> {
        samples.trials = self.planned.into_iter().flat_map(|planned| planned.trials).collect();
        samples.trials.iter().try_for_each(|trial| recorder.add_trial(trial))?;
        Ok(samples)
    }
}

/// A round of trials in progress.
pub struct Round<'s, D: AnyDevice = Device> {
    planned: &'s [Planned],
    executors: &'s [Executor<'s, D>],
    /// For each workload, its plans while they have had some of their turns, but not all.
    set_up: Vec<Option<InTurn<'s, D>>>,
    steps: usize,
    /// For each finished plan, the times taken with a core to itself, and those taken beside
    /// others.
    times: Vec<[Vec<Span>; 2]>,
}

impl<D: AnyDevice> Round<'_, D> {
    /// Gives all plans of the next workload one turn. Returns `false` if all turns were done
    /// already.
    ///
    /// # Errors
    /// If a plan does not run or computes a wrong result.
    pub fn step(&mut self) -> Result<bool, TrialError> {
        let Some(left) = (self.all() - self.steps).checked_sub(1) else {
            return Ok(false);
        };
        let count = self.planned.len();
        let index = self.steps % count;
        let planned = &self.planned[index];
        let failure = |source| TrialError { workload: planned.workload.name.clone(), source };
        let mut plans = match self.set_up[index].take() {
            Some(plans) => plans,
            None => {
                let set_up = self.executors[index].set_up(&planned.programs, Effort::SHORT);
                set_up.map_err(failure)?
            }
        };
        plans.turn().map_err(failure)?;
        if left < count {
            let runs = plans.finish().map_err(failure)?.into_iter();
            self.times.extend(runs.map(|run| [run.passes_ns, run.beside_ns]));
        } else {
            self.set_up[index] = Some(plans);
        }
        self.steps += 1;
        Ok(true)
    }

    /// Whether the round has done a smaller share of its steps than `done` of `of`.
    pub fn is_behind(&self, (done, of): (usize, usize)) -> bool {
        self.steps * of < self.all() * done
    }

    /// The number of steps: each turn of each workload is one.
    fn all(&self) -> usize {
        self.planned.len() * Effort::SHORT.turns
    }
}

/// A workload, the plans chosen from it, and their trials so far.
struct Planned {
    workload: Workload,
    programs: Vec<Program>,
    trials: Vec<Trial>,
}

/// Draws `count` workloads and chooses plans for each. A seed always gives the same result.
fn planned(count: usize, seed: u64) -> Vec<Planned> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let planned = |scenario: String| {
        let workload = Workload::from_toml("trial", &scenario).expect("trials are scenarios");
        let plans = chosen(&candidates(&workload).plans, &mut random);
        let trial = |plan: &Plan| Trial {
            scenario: scenario.clone(),
            plan: plan.name(),
            passes: Vec::new(),
            in_first: None,
            beside: Vec::new(),
        };
        let trials = plans.iter().map(trial).collect();
        let programs = plans.into_iter().map(|plan| plan.program).collect();
        Planned { workload, programs, trials }
    };
    trial_scenarios(count, seed).into_iter().map(planned).collect()
}
