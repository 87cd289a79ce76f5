//! Running trials.

use super::drawn::workloads;
use crate::execute::{Effort, ExecuteError, Executor};
use crate::gpu::Device;
use crate::host::Team;
use crate::plan::{Family, Plan};
use crate::samples::{Measurement, Quantity, Stop};
use crate::scenario::{HostMemory, Workload};
use crate::search::candidates;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Plans tried of each workload for each way of handling host memory: most
/// plans that anybody would choose are pinned.
const PAGEABLE: usize = 1;
const PINNED: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("trial `{workload}`: {source}")]
    Execute { workload: String, source: ExecuteError },
    #[error("cannot write the samples: {0}")]
    Record(#[from] std::io::Error),
}

/// What trials are run on.
pub struct Trials<'a> {
    pub device: &'a Device,
    pub team: &'a Team,
    pub seed: u64,
}

impl Trials<'_> {
    /// Runs plans of so many workloads and hands every one to `record`.
    ///
    /// # Errors
    /// If a plan does not run or computes something wrong, or `record` fails.
    pub fn run(
        &self,
        count: usize,
        mut record: impl FnMut(Measurement) -> std::io::Result<()>,
    ) -> Result<(), TrialError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        for text in workloads(count, self.seed) {
            let workload = Workload::from_toml("trial", &text).expect("trials are scenarios");
            let executor = Executor::new(Some(self.device), self.team, &workload, self.seed);
            for plan in chosen(candidates(&workload).plans, &mut random) {
                let run = executor.run(&plan, Effort::SHORT).map_err(|source| {
                    TrialError::Execute { workload: workload.name.clone(), source }
                })?;
                let quantity = Quantity::Trial { workload: text.clone(), plan: run.plan };
                let (times, stop) = (run.passes_ns, Stop::Capped);
                record(Measurement { quantity, count: 1, times, stop })?;
            }
        }
        Ok(())
    }
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
