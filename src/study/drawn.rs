//! Random workloads, and some plans of each.

use super::random_scenario::scenario;
use crate::profile::Handling;
use crate::scenario::Workload;
use crate::search::{Candidates, Plan, candidates};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;

/// A calibration draws its trials with a seed, too, and moves the ends of ranges by them. These
/// streams of random numbers make other workloads, also if both have one seed.
const WORKLOADS: u64 = 1;
const PLANS: u64 = 2;

/// The most plans of a kind that are drawn of one workload. Pinned memory gets more, because most
/// plans that anybody would choose are pinned.
const fn most(kind: Handling) -> usize {
    match kind {
        Handling::Cpu | Handling::Pageable | Handling::Graph => 1,
        Handling::Pinned => 2,
    }
}

/// A random workload, the text of its scenario, and the plans that were drawn of it.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub text: String,
    pub workload: Workload,
    pub plans: Candidates,
}

/// Draws workloads until they have so many plans in all. A seed always draws alike, and fewer plans
/// are the first of more.
pub fn draw(plans: usize, seed: u64) -> Vec<Drawn> {
    let stream = |stream| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        random
    };
    let [mut of_workloads, mut of_plans] = [WORKLOADS, PLANS].map(stream);
    let (mut all, mut left) = (Vec::new(), plans);
    while left > 0 {
        let name = format!("random-{seed}-{}", all.len());
        let text = scenario(all.len(), &name, &mut of_workloads);
        let workload = Workload::from_toml(&name, &text).expect("what is drawn is a scenario");
        let mut plans = candidates(&workload);
        plans.plans = chosen(&plans.plans, &mut of_plans);
        plans.plans.truncate(left);
        left -= plans.plans.len();
        all.push(Drawn { text, workload, plans });
    }
    all
}

/// A few plans of each kind.
pub(super) fn chosen(plans: &[Plan], random: &mut ChaCha8Rng) -> Vec<Plan> {
    let mut chosen = Vec::new();
    for kind in Handling::ALL {
        let is_meant = |plan: &&Plan| Handling::of(&plan.program) == kind;
        let meant: Vec<&Plan> = plans.iter().filter(is_meant).collect();
        chosen.extend(meant.sample(random, most(kind)).map(|&plan| plan.clone()));
    }
    chosen
}
