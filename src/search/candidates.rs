//! Which plans to try for a workload.

use crate::families::{AsGraph, Division, Family, Refusal, Strategy, Tries, build};
use crate::machine::{HostMemory, Side};
use crate::program::{Call, Process, Program};
use crate::scenario::{FamilyName, Home, PlanMemory, Task, Workload};
use crate::units::Bytes;
use rayon::prelude::*;

/// Numbers of chunks to try where the scenario does not say.
const CHUNKS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// All batches together are cut into at most so many pieces of at least `SMALLEST_PIECE` elements:
/// beyond that, calls cost more than overlap gains.
const MOST_ITEMS: u64 = 128;
const SMALLEST_PIECE: u64 = 4096;

/// One way to do a workload: a program, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What made the program from the workload's tasks. `None`: the scenario spells it out.
    pub strategy: Option<Strategy>,
    pub program: Program,
}

impl Plan {
    /// What reports call it.
    pub fn name(&self) -> String {
        self.program.label.clone()
    }

    /// The kind of host memory that it is named after, or else that its copies use.
    pub fn host_memory(&self) -> HostMemory {
        let is_staged = self.program.has_staged_copies() || !self.program.needs_device();
        let of_program = if is_staged { HostMemory::Pageable } else { HostMemory::Pinned };
        self.strategy.map_or(of_program, |strategy| strategy.memory)
    }

    /// Whether the CPU computes all of the work, or a share of it.
    pub fn uses_cpu(&self) -> bool {
        let shares = |strategy: Strategy| strategy.family.traits().side != Side::Gpu;
        self.program.computes_on_cpu() || self.strategy.is_some_and(shares)
    }

    /// Who does the work. A program that the scenario spells out is the CPU's only if it does
    /// without the GPU, and both have a part in one that computes on the CPU and uses the GPU.
    pub fn side(&self) -> Side {
        let program = &self.program;
        match self.strategy {
            Some(strategy) => strategy.family.traits().side,
            None if !program.needs_device() => Side::Cpu,
            None if program.body.iter().any(Call::is_compute) => Side::Both,
            None => Side::Gpu,
        }
    }

    pub fn is_on_cpu(&self) -> bool {
        self.side() == Side::Cpu
    }

    /// What runs know its program by: see [`Program::identity`].
    pub fn identity(&self) -> String {
        self.program.identity()
    }
}

/// The plans of a workload, and the strategies that have none, with the reason.
#[derive(Debug, Clone)]
pub struct Candidates {
    pub plans: Vec<Plan>,
    /// How many of them, the first, depend on the workload and the number of GPUs alone. The others
    /// were found with a profile.
    pub(super) listed: usize,
    pub refused: Vec<Refusal>,
    /// CPU threads that the workload may use; `None` is all of them.
    pub cpu_threads: Option<usize>,
    /// Whether the CPU has tasks in all plans.
    pub keeps_tasks_on_cpu: bool,
    /// The process that runs any of them.
    pub process: Process,
}

impl Candidates {
    /// No plans so far.
    pub(super) fn none(workload: &Workload) -> Self {
        let cpu_threads = workload.limits.cpu_threads;
        let keeps_tasks_on_cpu = workload.tasks.iter().any(|task| task.on_cpu);
        let (plans, refused, process) = (Vec::new(), Vec::new(), workload.process.clone());
        Self { plans, listed: 0, refused, cpu_threads, keeps_tasks_on_cpu, process }
    }

    /// The programs that the scenario spells out.
    pub(super) fn spelled_out(workload: &Workload) -> Self {
        let programs = workload.programs.iter().cloned();
        let plans = programs.map(|program| Plan { strategy: None, program }).collect();
        Self { plans, ..Self::none(workload) }
    }

    /// Adds the plans of strategies, or the reason why one has none.
    pub(super) fn add(
        &mut self,
        workload: &Workload,
        strategies: Vec<Strategy>,
        make: fn(&Workload, Strategy) -> Result<Program, Refusal>,
    ) {
        let plan = |strategy: Strategy| {
            let program = make(workload, strategy)?;
            Ok(Plan { strategy: Some(strategy), program })
        };
        let made: Vec<Result<Plan, Refusal>> = strategies.into_par_iter().map(plan).collect();
        for plan in made {
            match plan {
                // For small workloads, some strategies come to the same calls.
                Ok(plan) if self.has(&plan.program) => {}
                Ok(plan) => self.plans.push(plan),
                Err(refusal) => self.refused.push(refusal),
            }
        }
    }

    /// Whether a plan has the same program, maybe with another label.
    pub(super) fn has(&self, program: &Program) -> bool {
        self.plans.iter().any(|plan| {
            // Most differ in their memory, if not in the number of their calls.
            let (one, other) = (&plan.program, program);
            one.allocations == other.allocations
                && one.setup == other.setup
                && one.body == other.body
        })
    }

    /// The programs of the plans.
    pub fn programs(self) -> Vec<Program> {
        self.plans.into_iter().map(|plan| plan.program).collect()
    }
}

/// Builds the plans for the CPU and one GPU that the scenario asks for, or else a broad choice.
pub fn candidates(workload: &Workload) -> Candidates {
    candidates_over(workload, &[])
}

/// Builds what [`candidates`] does and plans over several GPUs, for each number in `gpus`.
pub fn candidates_over(workload: &Workload, gpus: &[usize]) -> Candidates {
    let mut found = Candidates::spelled_out(workload);
    if !workload.tasks.is_empty() {
        let strategies = strategies(workload, gpus);
        found.refused = untried(workload, &strategies, gpus);
        found.add(workload, strategies, build);
    }
    found.listed = found.plans.len();
    found
}

/// Refusals of families that the scenario asks for but that have no sensible plan.
pub(super) fn untried(workload: &Workload, tried: &[Strategy], gpus: &[usize]) -> Vec<Refusal> {
    let is_missing = |family: &Family| {
        let is_asked_for = workload.plans.families.contains(&family.name());
        // Whoever has a profile schedules tasks: see `scheduled`.
        let is_asked_for = is_asked_for && family.name() != FamilyName::ByTask;
        is_asked_for && !tried.iter().any(|strategy| strategy.family.name() == family.name())
    };
    let refusal = |family: Family| {
        let is_without_memory = !workload.plans.memory.is_empty()
            && memories(workload, family, typical_of(&chunk_counts(workload))).is_empty();
        let reason = if is_without_memory {
            "it needs pinned memory, but `memory` under `[plans]` does not list `pinned`".to_owned()
        } else if family.devices() > 1 && gpus.is_empty() {
            "several GPUs must be calibrated together first".to_owned()
        } else if family.devices() > 1 && !workload.plans.chunks.is_empty() {
            "no number of `chunks` can be divided evenly among the GPUs".to_owned()
        } else if let (1, Some(why)) =
            (workload.batches, workload.tasks.iter().find_map(Task::stays_whole))
        {
            format!("there is only one batch, and {why}")
        } else {
            format!(
                "there would be too few chunks to overlap, or chunks of fewer than \
                 {SMALLEST_PIECE} elements; to try them anyway, set `chunks` under `[plans]`"
            )
        };
        let strategy = Strategy::plain(family, HostMemory::Pinned);
        Refusal { strategy, reason, is_too_large: false }
    };
    Family::all().into_iter().filter(is_missing).map(refusal).collect()
}

/// Numbers of chunks to try: those that the scenario names, or else sensible ones.
pub(super) fn chunk_counts(workload: &Workload) -> Vec<u64> {
    let chosen = &workload.plans.chunks;
    if !chosen.is_empty() {
        return chosen.clone();
    }
    let elements = workload.buffers.iter().map(|buffer| buffer.elements).max().unwrap_or(0);
    let sensible = |chunks: &u64| {
        let items = chunks * workload.batches;
        let is_cut_well = items <= MOST_ITEMS && elements / chunks >= SMALLEST_PIECE;
        // Whole batches can overlap, however many and however small they are.
        items >= 2 && (is_cut_well || *chunks == 1)
    };
    CHUNKS.into_iter().filter(sensible).collect()
}

/// The middle one of some numbers of chunks.
pub(super) fn typical_of(chunks: &[u64]) -> u64 {
    chunks.get(chunks.len() / 2).copied().unwrap_or(1)
}

/// What to try, whether or not it can be done.
pub(super) fn strategies(workload: &Workload, gpus: &[usize]) -> Vec<Strategy> {
    let (chunks, asked) = (chunk_counts(workload), &workload.plans.families);
    // Asking for graphs alone does not ask for those of families that are tried on request.
    let is_due = |strategy: &Strategy| {
        !strategy.family.traits().is_on_request || asked.contains(&strategy.family.name())
    };
    let is_asked_for = |strategy: &Strategy| match strategy.family.traits().as_graph {
        AsGraph::Always if strategy.graph && asked.is_empty() => true,
        _ if asked.is_empty() => !strategy.graph,
        _ => asked.contains(&strategy.family_name()),
    };
    let cut = chunks.iter().map(|&chunks| Division::Chunks(chunks));
    let over_gpus = gpus.iter().flat_map(|&devices| {
        chunks.iter().map(move |&chunks| Division::OverGpus { chunks, devices })
    });
    let divisions = std::iter::once(Division::Whole).chain(cut).chain(over_gpus);
    let typical = typical_of(&chunks);
    let is_there = workload.buffers.iter().any(|buffer| buffer.home == Home::Device);
    let mut strategies = Vec::new();
    for division in divisions {
        let mut families = Family::choices(workload, division);
        // If two strategies come to the same calls, the first gives its name to the plan.
        families.sort_by_key(|family| is_there && family.traits().yields_on_device);
        for family in families {
            for (memory, each_pass) in memories(workload, family, typical) {
                strategies.push(Strategy { family, memory, graph: false, each_pass });
                if each_pass || memory == HostMemory::WriteCombined {
                    continue;
                }
                if family.traits().as_graph != AsGraph::Never && memory == HostMemory::Pinned {
                    strategies.push(Strategy { family, memory, graph: true, each_pass: false });
                }
            }
        }
    }
    strategies.retain(|strategy| is_due(strategy) && is_asked_for(strategy));
    strategies
}

/// Kinds of host memory to try, and whether each pass pins. A user can move from pageable memory to
/// pinned memory; the other way never pays.
fn memories(workload: &Workload, family: Family, typical: u64) -> Vec<(HostMemory, bool)> {
    let usual = usual_memories(workload, family, typical);
    let plain = |kinds: Vec<HostMemory>| kinds.into_iter().map(|memory| (memory, false)).collect();
    let asked = &workload.plans;
    if asked.memory.is_empty() {
        return plain(usual);
    }
    if family.traits().takes_pinned && !asked.may_pin() {
        return Vec::new();
    }
    if family.is_on_cpu() {
        // Where it copies nothing, it pins nothing.
        let copies = usual != [HostMemory::Pageable];
        let pageable = !copies || asked.holds(PlanMemory::Pageable);
        let kinds =
            [(HostMemory::Pageable, pageable), (HostMemory::Pinned, copies && asked.may_pin())];
        return plain(
            kinds.into_iter().filter(|(_, is_due)| *is_due).map(|(kind, _)| kind).collect(),
        );
    }
    if !family.traits().tries_pinned {
        return plain(usual);
    }
    let has_pageable =
        workload.buffers.iter().any(|one| one.home == Home::Host(HostMemory::Pageable));
    let tries_pageable =
        tries_pageable(family, typical) || !has_pageable || asked.families.contains(&family.name());
    let held = |memory: &PlanMemory| match memory {
        PlanMemory::Pageable => (HostMemory::Pageable, false),
        PlanMemory::Pinned => (HostMemory::Pinned, false),
        PlanMemory::PinnedEachPass => (HostMemory::Pinned, true),
        PlanMemory::WriteCombined => (HostMemory::WriteCombined, false),
    };
    let held = asked.memory.iter().map(held);
    held.filter(|(memory, _)| *memory != HostMemory::Pageable || tries_pageable).collect()
}

fn usual_memories(workload: &Workload, family: Family, typical: u64) -> Vec<HostMemory> {
    let has = |home| workload.buffers.iter().any(|buffer| buffer.home == home);
    let has_pinned = [HostMemory::Pinned, HostMemory::WriteCombined].map(Home::Host).map(has);
    let has_pinned = has_pinned.contains(&true);
    if family.is_on_cpu() && !has(Home::Device) {
        // Pinned memory is of use to the CPU only if data has to be copied from the device.
        vec![HostMemory::Pageable]
    } else if !family.traits().tries_pinned {
        vec![HostMemory::Pageable]
    } else if tries_pageable(family, typical) && !has_pinned {
        vec![HostMemory::Pageable, HostMemory::Pinned]
    } else {
        vec![HostMemory::Pinned]
    }
}

fn tries_pageable(family: Family, typical: u64) -> bool {
    match family.traits().pageable {
        Tries::Never => false,
        Tries::OnceCut => family.chunks() == typical,
        Tries::Always => true,
    }
}

/// The families that are tried on request and could make plans of a workload whose scenario asks
/// for no families.
pub fn on_request(workload: &Workload) -> Vec<FamilyName> {
    if workload.tasks.is_empty() || !workload.plans.families.is_empty() {
        return Vec::new();
    }
    let names = Family::all().into_iter().filter(|family| family.traits().is_on_request);
    let has_plans = |name: &FamilyName| {
        let mut asking = workload.clone();
        asking.plans.families = vec![*name];
        strategies(&asking, &[]).into_iter().any(|strategy| build(&asking, strategy).is_ok())
    };
    names.map(|family| family.name()).filter(has_plans).collect()
}

/// A plan that cannot be made, or does not fit the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub plan: String,
    /// None of a program that the scenario spells out.
    pub strategy: Option<Strategy>,
    pub on_cpu: bool,
    pub reason: String,
    /// Whether memory is too small for it: a smaller workload may have such a plan.
    pub is_too_large: bool,
}

impl From<Refusal> for Refused {
    fn from(Refusal { strategy, reason, is_too_large }: Refusal) -> Self {
        let (plan, on_cpu) = (strategy.to_string(), strategy.is_on_cpu());
        Self { plan, strategy: Some(strategy), on_cpu, reason, is_too_large }
    }
}

/// How much there is to write, to debug and to keep in memory. Less is simpler.
///
/// Fields are compared in their order, and the strategy comes last: no two candidates of a
/// workload are equally simple, so a choice by simplicity depends on no seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simplicity {
    pub gpus: usize,
    pub streams: usize,
    pub events: usize,
    /// Page-locked host memory is taken from everybody on the host.
    pub pinned: Bytes,
    /// Pieces of one batch.
    pub chunks: u64,
    pub graphs: usize,
    pub device_memory: Bytes,
    /// Calls of one pass.
    pub calls: usize,
    /// None of a program that the scenario spells out.
    pub strategy: Option<Strategy>,
}

impl Simplicity {
    pub fn of(plan: &Plan) -> Self {
        let Plan { strategy, program } = plan;
        Self {
            gpus: program.devices(),
            streams: program.streams.len(),
            events: program.events,
            pinned: program.pinned_bytes(),
            chunks: strategy.map_or(1, |strategy| strategy.family.chunks()),
            graphs: program.body.iter().filter_map(Call::launched_calls).count(),
            device_memory: program.device_bytes(),
            calls: program.body.len(),
            strategy: *strategy,
        }
    }
}
