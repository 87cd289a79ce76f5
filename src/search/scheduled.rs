//! Plans by task, beside those of families.

use super::candidates::{Candidates, Plan, chunk_counts, typical_of};
use crate::profile::Profile;
use crate::scenario::{FamilyName, Workload};
use crate::schedule::{Choice, Scheduled, schedule};

/// About how many calls are simulated to schedule tasks for one plan.
const BUDGET: u64 = 100_000;

/// Batches are cut into fewer pieces where tasks times pieces would be more, and not scheduled
/// unasked where there are more of them whole: a schedule of so many is not made better in time.
const MOST_NODES: u64 = 4096;
/// In a quick look, batches are cut into fewer pieces where tasks times pieces would be more.
const MOST_NODES_OF_A_LOOK: u64 = 1024;

/// How tasks are scheduled.
pub(super) enum How {
    /// With all numbers of chunks.
    Thoroughly,
    /// For a quick look: with one number of chunks, and as lists give them.
    Quickly,
    /// With these numbers of chunks. Without the CPU, lists are near enough to the best; whether
    /// the CPU is of any use shows only after some search.
    CutInto(Vec<u64>),
}

impl How {
    /// The numbers of chunks, and about how many calls are simulated for each.
    fn chunks_and_budget(self, workload: &Workload) -> (Vec<u64>, u64) {
        let all = counts(workload);
        match self {
            Self::Thoroughly => (all, BUDGET),
            Self::Quickly => {
                let typical = typical_of(&chunk_counts(workload));
                let nodes = workload.tasks.len() as u64 * workload.batches;
                let is_quick = |&one: &u64| {
                    one <= typical && one.saturating_mul(nodes) <= MOST_NODES_OF_A_LOOK
                };
                let most = all.into_iter().filter(is_quick).max();
                (vec![most.unwrap_or(1)], 0)
            }
            Self::CutInto(chunks) => (chunks, if shares_with_cpu(workload) { BUDGET } else { 0 }),
        }
    }
}

/// Whether plans by task may give the CPU some of the tasks. Unasked they do not: no runs have been
/// scored yet of plans that share the work with the CPU.
fn shares_with_cpu(workload: &Workload) -> bool {
    workload.plans.families.contains(&FamilyName::ByTask)
}

/// Numbers of chunks to try.
fn counts(workload: &Workload) -> Vec<u64> {
    let mut chunks = chunk_counts(workload);
    if workload.plans.chunks.is_empty() {
        let nodes = workload.tasks.len() as u64 * workload.batches;
        chunks.retain(|&count| count > 1 && count.saturating_mul(nodes) <= MOST_NODES);
        chunks.insert(0, 1);
    }
    chunks
}

/// The plans by task, if the scenario asks for them.
pub(super) fn schedules(workload: &Workload, profile: &Profile, how: How) -> Scheduled {
    let asked = &workload.plans.families;
    let nodes = (workload.tasks.len() as u64).saturating_mul(workload.batches);
    let is_due = asked.contains(&FamilyName::ByTask) || (asked.is_empty() && nodes <= MOST_NODES);
    if workload.tasks.is_empty() || !is_due {
        return Scheduled::default();
    }
    let (chunks, budget) = how.chunks_and_budget(workload);
    let gpus = std::iter::once(1).chain(profile.gpu_counts()).collect();
    let with_cpu = shares_with_cpu(workload);
    let choice = Choice { chunks, gpus, with_cpu, budget };
    schedule(workload, profile, &choice)
}

/// Adds plans by task to others.
pub(super) fn add_schedules(found: &mut Candidates, scheduled: Scheduled) {
    found.refused.extend(scheduled.refused);
    for (strategy, program) in scheduled.plans {
        // Kinds of host memory are searched one by one. Where none is used, their plans share a
        // name, and may still differ in the order of their tasks.
        let has_name = found.plans.iter().any(|other| other.program.label == program.label);
        if !has_name && !found.has(&program) {
            found.plans.push(Plan { strategy: Some(strategy), program });
        }
    }
}
