//! Running trials.

use super::drawn::scenarios;
use crate::execute::{Effort, ExecuteError, Executor};
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
    #[error("interrupted after {done} of {total} workloads of a round of trials")]
    Interrupted { done: usize, total: usize },
}

/// Trials of a machine, which are run in rounds: where memory happens to lie makes a plan 3%
/// faster at one time than at another, however long it is run each time.
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

    /// Runs each plan, those of a workload in turn.
    ///
    /// # Errors
    /// If a plan does not run or computes something wrong, or `go_on`, asked with the
    /// workloads done and the whole number, says no.
    pub fn round(
        &mut self,
        go_on: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<(), TrialError> {
        let total = self.planned.len();
        for (done, Planned { workload, plans, trials }) in self.planned.iter_mut().enumerate() {
            if go_on(done, total).is_break() {
                return Err(TrialError::Interrupted { done, total });
            }
            let executor = Executor::new(Some(self.device), self.team, workload, self.seed);
            let runs = executor.run_in_turn(plans, Effort::SHORT).map_err(|source| {
                TrialError::Execute { workload: workload.name.clone(), source }
            })?;
            for (trial, run) in trials.iter_mut().zip(runs) {
                trial.passes.extend(run.passes_ns);
                trial.beside.extend(run.beside_ns);
            }
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
