//! Which share of the chunks the CPU is to have.
//!
//! Families see no profile, so they propose a few shares. With a profile, the share is found at
//! which both sides are done at the same time, and its neighbours are tried.

use super::candidates::{Candidates, Plan};
use super::halving::halved;
use crate::families::{Family, Hybrid, Strategy, build};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::simulate::simulate;
use crate::timeline::Lane;
use crate::units::Instant;
use std::collections::BTreeSet;

/// Adds plans with the shares that fit a machine, where there are plans with others.
pub(super) fn add_shares(found: &mut Candidates, workload: &Workload, profile: &Profile) {
    let hybrid = |plan: &Plan| match plan.strategy {
        Some(strategy @ Strategy { family: Family::Hybrid(hybrid), .. }) => {
            Some((hybrid.chunks, strategy))
        }
        _ => None,
    };
    let cut: BTreeSet<(u64, Strategy)> = found
        .plans
        .iter()
        .filter_map(hybrid)
        .map(|(chunks, strategy)| (chunks, with_share(strategy, chunks, 1)))
        .collect();
    for (chunks, strategy) in cut {
        let Some(even) = even_share(workload, profile, (chunks, strategy)) else { continue };
        // Between these two, both sides are done at the same time.
        for on_cpu in even.saturating_sub(1)..=even + 2 {
            let strategy = with_share(strategy, chunks, on_cpu);
            if found.plans.iter().any(|plan| plan.strategy == Some(strategy)) {
                continue;
            }
            let program = build(workload, strategy);
            found.plans.extend(program.map(|program| Plan { strategy: Some(strategy), program }));
        }
    }
}

fn with_share(strategy: Strategy, chunks: u64, on_cpu: u64) -> Strategy {
    Strategy { family: Hybrid { chunks, on_cpu }.into(), ..strategy }
}

/// The most chunks that the CPU computes before the GPU is done with the others. `None` if that
/// cannot be predicted.
fn even_share(
    workload: &Workload,
    profile: &Profile,
    (chunks, strategy): (u64, Strategy),
) -> Option<u64> {
    let between = |low: u64, high: u64| (high - low > 1).then(|| low.midpoint(high));
    let is_first = |on_cpu: u64| {
        let program = build(workload, with_share(strategy, chunks, on_cpu)).ok()?;
        cpu_is_first(&program, profile)
    };
    Some(halved((0, chunks * workload.batches), between, is_first)?.0)
}

/// Whether the host begins to wait for the GPU before that is done.
fn cpu_is_first(program: &Program, profile: &Profile) -> Option<bool> {
    let timeline = simulate(program, profile).ok()?;
    let waits = program.body.iter().position(|call| call.only_waits())?;
    let mut host = timeline.lane(Lane::Host);
    let cpu = host.find(|activity| activity.call == waits)?.start;
    let gpu = timeline.activities.iter().filter(|one| one.lane != Lane::Host);
    Some(cpu < gpu.map(|one| one.end).max().unwrap_or(Instant::START))
}
