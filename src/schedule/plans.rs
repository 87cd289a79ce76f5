//! The plans of a workload by task.

use super::decoder::{Impossible, strategy};
use super::graph::TaskGraph;
use super::improve::{Search, Worth};
use super::prices::Prices;
use crate::families::{ByTask, Refusal, Strategy, accepted};
use crate::machine::{Capacities, HostMemory};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::units::Bytes;
use rayon::prelude::*;

/// What is scheduled, and how much is spent on it.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Numbers of pieces into which batches are cut.
    pub chunks: Vec<u64>,
    /// Numbers of GPUs.
    pub gpus: Vec<usize>,
    /// About how many calls are simulated for each plan.
    pub budget: u64,
}

/// Plans by task, and those that could not be made, with the reason.
#[derive(Debug, Clone, Default)]
pub struct Scheduled {
    pub plans: Vec<(Strategy, Program)>,
    pub refused: Vec<Refusal>,
}

/// How many numbers of chunks are looked into after a first look at all.
const FINALISTS: usize = 2;

/// Schedules a workload by the prices of a profile: for each number of GPUs the best plan that is
/// found. The same inputs give the same plans.
pub fn schedule(workload: &Workload, profile: &Profile, choice: &Choice) -> Scheduled {
    let mut scheduled = Scheduled::default();
    for &devices in &choice.gpus {
        let with = |memory| best(workload, profile, choice, (memory, devices));
        // Where there is too little memory to pin, the driver may stage copies.
        let found = with(HostMemory::Pinned).or_else(|refusal| {
            let staged = if refusal.is_too_large { with(HostMemory::Pageable).ok() } else { None };
            staged.ok_or(refusal)
        });
        match found {
            Ok(plan) => scheduled.plans.push(plan),
            Err(refusal) => scheduled.refused.push(refusal),
        }
    }
    scheduled
}

fn best(
    workload: &Workload,
    profile: &Profile,
    choice: &Choice,
    (memory, devices): (HostMemory, usize),
) -> Result<(Strategy, Program), Refusal> {
    let limit = device_limit(workload, profile);
    let first = |&pieces: &u64| {
        let graph = TaskGraph::new(workload, pieces)?;
        let prices = Prices::new(&graph, profile, (memory, devices));
        let found = Search::new(&graph, &prices, profile, (memory, limit)).first();
        Ok((found?, graph, prices))
    };
    let looked: Vec<Result<_, Impossible>> = choice.chunks.par_iter().map(first).collect();
    let why = looked.iter().find_map(|one| one.as_ref().err().cloned());
    let mut found: Vec<_> = looked.into_iter().flatten().collect();
    found.sort_by_key(|((worth, _), graph, _)| (*worth, graph.pieces));
    found.truncate(FINALISTS);
    let improved = found.into_par_iter().map(|(first, graph, prices)| {
        let mut search = Search::new(&graph, &prices, profile, (memory, limit));
        let (worth, schedule) = search.improve(first, choice.budget / FINALISTS as u64);
        (worth, strategy(&graph, &schedule, (memory, devices)), search.program(&schedule))
    });
    let improved: Vec<(Worth, Strategy, Result<Program, Impossible>)> = improved.collect();
    let best = improved.into_iter().min_by_key(|(worth, strategy, _)| (*worth, *strategy));
    let Some((_, strategy, Ok(program))) = best else {
        let family = ByTask { chunks: 1, devices, with_cpu: false }.into();
        let strategy = Strategy { family, memory, graph: false };
        let why = why.unwrap_or_else(|| Impossible::Other("none of it can be cut".to_owned()));
        let (reason, is_too_large) = (why.to_string(), matches!(why, Impossible::TooLarge(_)));
        return Err(Refusal { strategy, reason, is_too_large });
    };
    Ok((strategy, accepted(workload, strategy, program)?))
}

/// How much memory a plan may take of a device.
fn device_limit(workload: &Workload, profile: &Profile) -> Bytes {
    let limits = [Capacities::from(&workload.limits), profile.machine.capacities()];
    let least = limits.into_iter().filter_map(|one| one.device).min();
    least.unwrap_or(Bytes::new(i64::MAX as u64))
}
