//! Running trials.

use super::drawn::scenarios;
use crate::execute::{Effort, ExecuteError, Executor};
use crate::gpu::Device;
use crate::host::Team;
use crate::plan::{Family, Plan};
use crate::samples::{Extent, Recorder, Samples, Trial};
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

/// How often each is run: a CPU, or where memory happens to lie, makes a plan 3%
/// faster at one time than at another, however long it is run each time.
const ROUNDS: usize = 2;

/// Plans tried of each workload for each way of handling host memory: most
/// plans that anybody would choose are pinned.
const PAGEABLE: usize = 1;
const PINNED: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("trial `{workload}`: {source}")]
    Execute { workload: String, source: ExecuteError },
    #[error("cannot write the samples: {0}")]
    Write(#[from] std::io::Error),
    #[error("interrupted after {done} of {total} trials")]
    Interrupted { done: usize, total: usize },
}

/// What trials are run on.
pub struct Trials<'a> {
    pub device: &'a Device,
    pub team: &'a Team,
}

impl Trials<'_> {
    /// Adds trials to samples that have all else, and writes them when all are done.
    ///
    /// # Errors
    /// If a plan does not run or computes something wrong, the samples cannot be
    /// written, or `go_on`, asked with the trials done and the whole number, says no.
    pub fn run<W: Write>(
        &self,
        mut samples: Samples,
        recorder: &mut Recorder<W>,
        go_on: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Samples, TrialError> {
        let seed = samples.machine.seed;
        let planned = planned(workloads(samples.machine.extent), seed);
        let mut trials: Vec<Vec<Trial>> = planned.iter().map(Planned::trials).collect();
        let total = planned.len() * ROUNDS;
        for done in 0..total {
            if go_on(done, total).is_break() {
                return Err(TrialError::Interrupted { done, total });
            }
            let Planned { workload, plans, .. } = &planned[done % planned.len()];
            let executor = Executor::new(Some(self.device), self.team, workload, seed);
            for (plan, trial) in plans.iter().zip(&mut trials[done % planned.len()]) {
                let run = executor.run(plan, Effort::SHORT).map_err(|source| {
                    TrialError::Execute { workload: workload.name.clone(), source }
                })?;
                trial.passes.extend(run.passes_ns);
                trial.beside.extend(run.beside_ns);
            }
        }
        for trial in trials.into_iter().flatten() {
            recorder.add_trial(&trial)?;
            samples.trials.push(trial);
        }
        Ok(samples)
    }
}

/// A workload and those of its plans that are tried.
struct Planned {
    scenario: String,
    workload: Workload,
    plans: Vec<Plan>,
}

impl Planned {
    /// Of each plan, with no pass yet.
    fn trials(&self) -> Vec<Trial> {
        let trial = |plan: &Plan| Trial {
            scenario: self.scenario.clone(),
            plan: plan.strategy.to_string(),
            passes: Vec::new(),
            beside: Vec::new(),
        };
        self.plans.iter().map(trial).collect()
    }
}

/// So many workloads; the same ones for the same seed.
fn planned(count: usize, seed: u64) -> Vec<Planned> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let plan = |scenario: String| {
        let workload = Workload::from_toml("trial", &scenario).expect("trials are scenarios");
        let plans = chosen(candidates(&workload).plans, &mut random);
        Planned { scenario, workload, plans }
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
