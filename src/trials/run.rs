//! Running trials.

use super::drawn::scenarios;
use crate::execute::{Effort, ExecuteError, Executor, InTurn};
use crate::gpu::Device;
use crate::host::Team;
use crate::plan::{Family, Plan};
use crate::samples::{Extent, Provenance, Recorder, Samples, Trial};
use crate::scenario::{HostMemory, Workload};
use crate::search::candidates;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::Write;
use std::ops::ControlFlow;

/// Workloads that are tried; a quick calibration has no time for it.
const fn workloads(extent: Extent) -> usize {
    match extent {
        Extent::Full | Extent::Elsewhere => 24,
        Extent::Quick => 0,
    }
}

/// Plans tried of each workload for each way of handling host memory: most
/// plans that anybody would choose are pinned.
const PAGEABLE: usize = 1;
const PINNED: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("trial `{workload}`: {source}")]
    Execute { workload: String, source: ExecuteError },
    #[error("interrupted after {done} of {total} steps of a round of trials")]
    Interrupted { done: usize, total: usize },
}

/// Trials of a machine, which are run in rounds: where memory happens to lie makes a plan 3%
/// faster at one time than at another, however long it is run each time. In a round all plans
/// are set up at once, and each gets its turns throughout the round.
pub struct Trials<'a> {
    device: &'a Device,
    team: &'a Team,
    seed: u64,
    planned: Vec<Planned>,
}

impl<'a> Trials<'a> {
    /// Those of a calibration.
    pub fn new(machine: &Provenance, device: &'a Device, team: &'a Team) -> Self {
        let seed = machine.seed;
        Self { device, team, seed, planned: planned(workloads(machine.extent), seed) }
    }

    /// Runs all plans in turn.
    ///
    /// # Errors
    /// If a plan does not run or computes something wrong, or `go_on`, asked with the
    /// steps done and the whole number, says no.
    pub fn round(
        &mut self,
        go_on: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<(), TrialError> {
        // To set a workload up is a step, and so is each turn of all.
        let total = self.planned.len() + Effort::SHORT.turns;
        let mut done = 0..;
        let mut step = || match done.next() {
            Some(done) if go_on(done, total).is_break() => {
                Err(TrialError::Interrupted { done, total })
            }
            _ => Ok(()),
        };
        let (device, team, seed) = (self.device, self.team, self.seed);
        let workloads = self.planned.iter().map(|planned| &planned.workload);
        let executors: Vec<Executor<'_>> =
            workloads.map(|one| Executor::new(Some(device), team, one, seed)).collect();
        let mut all = Vec::new();
        for (planned, executor) in self.planned.iter().zip(&executors) {
            step()?;
            let set_up = executor.set_up(&planned.plans, Effort::SHORT);
            all.push(set_up.map_err(|source| planned.failure(source))?);
        }
        for _ in 0..Effort::SHORT.turns {
            step()?;
            for (planned, plans) in self.planned.iter().zip(&mut all) {
                plans.turn().map_err(|source| planned.failure(source))?;
            }
        }
        let finish = |(planned, plans): (&Planned, InTurn<'_>)| {
            plans.finish().map_err(|source| planned.failure(source))
        };
        let runs = self.planned.iter().zip(all).map(finish).collect::<Result<Vec<_>, _>>()?;
        let trials = self.planned.iter_mut().flat_map(|planned| &mut planned.trials);
        for (trial, run) in trials.zip(runs.into_iter().flatten()) {
            trial.passes.extend(run.passes_ns);
            trial.beside.extend(run.beside_ns);
        }
        Ok(())
    }

    /// Adds the trials to samples that have all else, and writes them.
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

/// A workload, those of its plans that are tried, and how they went.
struct Planned {
    workload: Workload,
    plans: Vec<Plan>,
    trials: Vec<Trial>,
}

impl Planned {
    fn failure(&self, source: ExecuteError) -> TrialError {
        TrialError::Execute { workload: self.workload.name.clone(), source }
    }
}

/// So many workloads; the same ones for the same seed.
fn planned(count: usize, seed: u64) -> Vec<Planned> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let plan = |scenario: String| {
        let workload = Workload::from_toml("trial", &scenario).expect("trials are scenarios");
        let plans = chosen(candidates(&workload).plans, &mut random);
        let trial = |plan: &Plan| Trial {
            scenario: scenario.clone(),
            plan: plan.strategy.to_string(),
            passes: Vec::new(),
            beside: Vec::new(),
        };
        Planned { trials: plans.iter().map(trial).collect(), workload, plans }
    };
    scenarios(count, seed).into_iter().map(plan).collect()
}

/// The plan for the CPU, and some of the others by luck.
fn chosen(plans: Vec<Plan>, random: &mut impl Rng) -> Vec<Plan> {
    let (cpu, gpu): (Vec<Plan>, Vec<Plan>) =
        plans.into_iter().partition(|plan| plan.strategy.family == Family::Cpu);
    let pinned = |plan: &Plan| plan.strategy.memory == HostMemory::Pinned;
    let (pinned, pageable): (Vec<Plan>, Vec<Plan>) = gpu.into_iter().partition(pinned);
    let mut chosen = cpu;
    for (plans, count) in [(pageable, PAGEABLE), (pinned, PINNED)] {
        chosen.extend(plans.choose_multiple(random, count).cloned());
    }
    chosen
}
