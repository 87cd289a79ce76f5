//! The plans of a workload by task.

use super::decoder::{Impossible, Schedule};
use super::graph::TaskGraph;
use super::improve::{Search, Valued, Worth};
use super::prices::{Prices, Processor};
use crate::families::{ByTask, Cpu, Family, Refusal, Strategy, accepted, build, check_memory_kind};
use crate::machine::{Capacities, HostMemory};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::{PlanMemory, Workload};
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

/// The plan of a schedule that leaves nothing to a GPU: a family has it already.
const ON_CPU: Strategy = Strategy {
    family: Family::Cpu(Cpu),
    memory: HostMemory::Pageable,
    graph: false,
    each_pass: false,
};

/// How many numbers of chunks are looked into after a first look at all.
const FINALISTS: usize = 2;

/// Schedules a workload by the prices of a profile, for each number of GPUs, with the CPU and
/// without it: the best plan that is found for each number of chunks. It may be on the CPU alone.
/// The best of these is also dealt over fewer streams, and also copies pageable memory. Better
/// plans come first. The same inputs give the same plans.
pub fn schedule(workload: &Workload, profile: &Profile, choice: &Choice) -> Scheduled {
    let mut scheduled = Scheduled::default();
    let sides: &[bool] = if choice.with_cpu { &[false, true] } else { &[false] };
    for &devices in &choice.gpus {
        let (mut found, mut why) = (Vec::new(), None);
        for &with_cpu in sides {
            match plans_of_either_memory(workload, profile, choice, (devices, with_cpu)) {
                Ok(plans) => found.extend(plans),
                Err(refusal) => why = why.or(Some(refusal)),
            }
        }
        // Also where the CPU may have tasks, it may be better to give it none.
        found.sort_by_key(|one| (one.strategy, one.worth));
        found.dedup_by_key(|one| one.strategy);
        found.sort_by_key(|one| (one.worth, one.strategy));
        scheduled.refused.extend(why.filter(|_| found.is_empty()));
        scheduled.plans.extend(found.into_iter().map(|found| (found.strategy, found.program)));
    }
    scheduled
}

/// Plans that copy pinned memory, and one that copies pageable memory, if the scenario does not say
/// which of both. If there is too little memory to pin, they all copy pageable memory, which the
/// driver stages.
fn plans_of_either_memory(
    workload: &Workload,
    profile: &Profile,
    choice: &Choice,
    (devices, with_cpu): (usize, bool),
) -> Result<Vec<Found>, Refusal> {
    let with = |memory, choice: &Choice| {
        Setting { workload, profile, memory, devices, with_cpu }.plans(choice)
    };
    let asked = &workload.plans;
    let may_hold = |memory| asked.memory.is_empty() || asked.holds(memory);
    let [pinned, pageable] = [PlanMemory::Pinned, PlanMemory::Pageable].map(may_hold);
    if !pinned && pageable {
        return with(HostMemory::Pageable, choice);
    }
    if !pinned {
        let strategy = Strategy::plain(ByTask::SIMPLEST, HostMemory::Pinned);
        let reason = "task schedules use `pinned` or `pageable` memory throughout, but `memory` \
                      under `[plans]` lists neither";
        return Err(Refusal { strategy, reason: reason.to_owned(), is_too_large: false });
    }
    let mut found = match with(HostMemory::Pinned, choice) {
        Err(refusal) if refusal.is_too_large && pageable => {
            return with(HostMemory::Pageable, choice).map_err(|_| refusal);
        }
        pinned => pinned?,
    };
    if choice.budget > 0 && devices == 1 && pageable {
        let chunks = vec![found[0].strategy.family.chunks()];
        let quick = Choice { chunks, budget: 0, ..choice.clone() };
        found.extend(with(HostMemory::Pageable, &quick).unwrap_or_default());
    }
    Ok(found)
}

/// What plans have in common.
#[derive(Clone, Copy)]
struct Setting<'a> {
    workload: &'a Workload,
    profile: &'a Profile,
    memory: HostMemory,
    devices: usize,
    /// Whether the CPU may have some of the tasks.
    with_cpu: bool,
}

/// A workload that is cut into chunks, with its best schedules so far, the best one first.
struct Scheduling<'a> {
    graph: TaskGraph<'a>,
    prices: Prices,
    best: Vec<Valued>,
}

impl<'a> Setting<'a> {
    /// The best plan for each number of chunks, and what [`Scheduling::in_fewer_streams`] makes of
    /// the best of all. There is at least one.
    fn plans(self, choice: &Choice) -> Result<Vec<Found>, Refusal> {
        check_memory_kind(self.workload, self.strategy(1, 1, false))
            .map_err(|why| self.refusal(why.into()))?;
        let looked: Vec<_> = choice.chunks.par_iter().map(|&chunks| self.first(chunks)).collect();
        let why = looked.iter().find_map(|one| one.as_ref().err().cloned());
        let mut looked: Vec<_> = looked.into_iter().flatten().collect();
        looked.sort_by_key(Scheduling::rank);
        let count = FINALISTS.min(looked.len());
        let (finalists, others) = looked.split_at_mut(count);
        let budget = choice.budget / count.max(1) as u64;
        finalists.par_iter_mut().for_each(|one| {
            let starts = std::mem::take(&mut one.best);
            one.best = vec![one.search(self).improve(starts, budget)];
        });
        finalists.sort_by_key(Scheduling::rank);
        let Some(best) = finalists.first() else {
            let why = why.unwrap_or_else(|| "no number of chunks to try".to_owned().into());
            return Err(self.refusal(why));
        };
        let fewer = if choice.budget > 0 { best.in_fewer_streams(self) } else { Vec::new() };
        let schedules = finalists.iter().chain(&*others).map(|one| (one, &one.best[0]));
        let schedules = schedules.chain(fewer.iter().map(|schedule| (best, schedule)));
        let found: Vec<_> = schedules.map(|(one, best)| self.found(one, best)).collect();
        let why = found.iter().find_map(|one| one.as_ref().err().cloned());
        let found: Vec<_> = found.into_iter().flatten().collect();
        match why {
            Some(refusal) if found.is_empty() => Err(refusal),
            _ => Ok(found),
        }
    }

    /// The best of the first schedules for a number of chunks.
    fn first(self, chunks: u64) -> Result<Scheduling<'a>, Impossible> {
        let Self { workload, profile, memory, devices, with_cpu } = self;
        let graph = TaskGraph::new(workload, chunks)?;
        let prices = Prices::new(&graph, profile, (memory, devices, with_cpu));
        let starts =
            |prices: &Prices| Search::new(&graph, prices, profile, (memory, self.limit())).starts();
        // Not every pattern of copies from GPU to GPU can be predicted.
        let by_host = (devices > 1).then(|| prices.without_peers());
        let others = by_host.and_then(|prices| Some((starts(&prices).ok()?, prices)));
        let (best, prices) = match (starts(&prices), others) {
            (Ok(best), Some((other, _))) if best[0].0 <= other[0].0 => (best, prices),
            (_, Some(other)) => other,
            (found, None) => (found?, prices),
        };
        Ok(Scheduling { graph, prices, best })
    }

    fn found(
        self,
        scheduling: &Scheduling<'_>,
        (worth, schedule): &Valued,
    ) -> Result<Found, Refusal> {
        if schedule.on.iter().all(|&on| on == Processor::Cpu) {
            let program = build(self.workload, ON_CPU)?;
            return Ok(Found { worth: *worth, strategy: ON_CPU, program });
        }
        let program = scheduling.search(self).program(schedule).map_err(|why| self.refusal(why))?;
        let on_cpu = schedule.on.contains(&Processor::Cpu);
        let strategy = self.strategy(scheduling.graph.pieces, program.streams.len(), on_cpu);
        let program = accepted(self.workload, strategy, program)?;
        Ok(Found { worth: *worth, strategy, program })
    }

    fn strategy(self, chunks: u64, streams: usize, with_cpu: bool) -> Strategy {
        Strategy::plain(ByTask { chunks, streams, devices: self.devices, with_cpu }, self.memory)
    }

    fn refusal(self, why: Impossible) -> Refusal {
        let is_too_large = matches!(why, Impossible::TooLarge(_));
        Refusal { strategy: self.strategy(1, 1, false), reason: why.to_string(), is_too_large }
    }

    /// How much memory a plan may take of a device.
    fn limit(self) -> Bytes {
        let limits = [Capacities::from(&self.workload.limits), self.profile.machine.capacities()];
        let least = limits.into_iter().filter_map(|one| one.device).min();
        least.unwrap_or(Bytes::new(i64::MAX as u64))
    }
}

impl Scheduling<'_> {
    fn rank(&self) -> (Worth, u64) {
        (self.best[0].0, self.graph.pieces)
    }

    fn search<'s>(&'s self, of: Setting<'s>) -> Search<'s> {
        Search::new(&self.graph, &self.prices, of.profile, (of.memory, of.limit()))
    }

    /// The best schedule as it is dealt over fewer streams than it uses.
    fn in_fewer_streams(&self, of: Setting<'_>) -> Vec<Valued> {
        let mut search = self.search(of);
        let (worth, best) = &self.best[0];
        let with = |streams| Schedule { streams, ..best.clone() };
        let dealt = search.layouts.clone().into_iter().map(with).filter_map(|schedule| {
            let found = search.worth(&schedule).ok()?;
            (found.streams < worth.streams).then_some((found, schedule))
        });
        dealt.collect()
    }
}
