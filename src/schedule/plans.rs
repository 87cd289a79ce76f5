//! The plans of a workload by task.

use super::decoder::{Impossible, strategy};
use super::graph::TaskGraph;
use super::improve::{Search, Worth};
use super::prices::{Prices, Processor};
use crate::families::{ByTask, Cpu, Family, Refusal, Strategy, accepted, build, check_memory_kind};
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
    /// Whether to look for plans in which the CPU has some of the tasks, too.
    pub with_cpu: bool,
    /// About how many calls are simulated for each plan.
    pub budget: u64,
}

/// Plans by task, and those that could not be made, with the reason.
#[derive(Debug, Clone, Default)]
pub struct Scheduled {
    pub plans: Vec<(Strategy, Program)>,
    pub refused: Vec<Refusal>,
}

/// A plan with what it comes to.
struct Found {
    worth: Worth,
    strategy: Strategy,
    program: Program,
}

/// Of a schedule that leaves nothing to a GPU: a family has that plan.
const ON_CPU: Strategy = Strategy {
    family: Family::Cpu(Cpu),
    memory: HostMemory::Pageable,
    graph: false,
    each_pass: false,
};

/// How many numbers of chunks are looked into after a first look at all.
const FINALISTS: usize = 2;

/// Schedules a workload by the prices of a profile: for each number of GPUs the best plan that is
/// found without the CPU, and the best one with it, which may be on the CPU alone. The same inputs
/// give the same plans.
pub fn schedule(workload: &Workload, profile: &Profile, choice: &Choice) -> Scheduled {
    let mut scheduled = Scheduled::default();
    for &devices in &choice.gpus {
        let with = |with_cpu, memory| best(workload, profile, choice, (memory, devices, with_cpu));
        let found = |with_cpu| {
            with(with_cpu, HostMemory::Pinned).or_else(|refusal| {
                // Where there is too little memory to pin, the driver may stage copies.
                let staged = || with(with_cpu, HostMemory::Pageable).ok();
                refusal.is_too_large.then(staged).flatten().ok_or(refusal)
            })
        };
        let without = found(false);
        let both = choice.with_cpu.then(|| found(true).ok()).flatten();
        match (without, both) {
            (Err(refusal), None) => scheduled.refused.push(refusal),
            // Also where the CPU may have tasks, it may be better to give it none.
            (Ok(one), Some(other)) if one.strategy == other.strategy => {
                let better = if other.worth < one.worth { other } else { one };
                scheduled.plans.push((better.strategy, better.program));
            }
            (without, both) => {
                let plans = without.into_iter().chain(both);
                scheduled.plans.extend(plans.map(|found| (found.strategy, found.program)));
            }
        }
    }
    scheduled
}

fn best(
    workload: &Workload,
    profile: &Profile,
    choice: &Choice,
    (memory, devices, with_cpu): (HostMemory, usize, bool),
) -> Result<Found, Refusal> {
    let limit = device_limit(workload, profile);
    let family = ByTask { chunks: 1, devices, with_cpu: false }.into();
    let refused = Strategy { family, memory, graph: false, each_pass: false };
    let refuse = |why: Impossible| {
        let is_too_large = matches!(why, Impossible::TooLarge(_));
        Refusal { strategy: refused, reason: why.to_string(), is_too_large }
    };
    check_memory_kind(workload, refused).map_err(|why| refuse(why.into()))?;
    let first = |&pieces: &u64| {
        let graph = TaskGraph::new(workload, pieces)?;
        let prices = Prices::new(&graph, profile, (memory, devices, with_cpu));
        let first = |prices: Prices| {
            let found = Search::new(&graph, &prices, profile, (memory, limit)).starts();
            found.map(|found| (found, prices))
        };
        // Not every pattern of copies from GPU to GPU can be predicted.
        let by_host = (devices > 1).then(|| prices.without_peers());
        let found = first(prices);
        let others = by_host.and_then(|prices| first(prices).ok());
        let best = found.iter().chain(&others).min_by_key(|(starts, _)| starts[0].0).cloned();
        let (starts, prices) = best.map_or(found, Ok)?;
        Ok((starts, graph, prices))
    };
    let looked: Vec<Result<_, Impossible>> = choice.chunks.par_iter().map(first).collect();
    let why = looked.iter().find_map(|one| one.as_ref().err().cloned());
    let mut found: Vec<_> = looked.into_iter().flatten().collect();
    found.sort_by_key(|(starts, graph, _)| (starts[0].0, graph.pieces));
    found.truncate(FINALISTS);
    let budget = choice.budget / found.len().max(1) as u64;
    let improved = found.into_par_iter().map(|(starts, graph, prices)| {
        let mut search = Search::new(&graph, &prices, profile, (memory, limit));
        let (worth, schedule) = search.improve(starts, budget);
        if schedule.on.iter().all(|&on| on == Processor::Cpu) {
            return (worth, ON_CPU, None);
        }
        let strategy = strategy(&graph, &schedule, (memory, devices));
        (worth, strategy, Some(search.program(&schedule)))
    });
    let improved: Vec<(Worth, Strategy, Option<_>)> = improved.collect();
    let best = improved.into_iter().min_by_key(|(worth, strategy, _)| (*worth, *strategy));
    match best {
        Some((worth, strategy, None)) => {
            Ok(Found { worth, strategy, program: build(workload, strategy)? })
        }
        Some((worth, strategy, Some(program))) => {
            let program = accepted(workload, strategy, program.map_err(refuse)?)?;
            Ok(Found { worth, strategy, program })
        }
        None => Err(refuse(why.unwrap_or_else(|| "no number of chunks to try".to_owned().into()))),
    }
}

/// How much memory a plan may take of a device.
fn device_limit(workload: &Workload, profile: &Profile) -> Bytes {
    let limits = [Capacities::from(&workload.limits), profile.machine.capacities()];
    let least = limits.into_iter().filter_map(|one| one.device).min();
    least.unwrap_or(Bytes::new(i64::MAX as u64))
}
