//! Which plans to try for a workload.

use crate::families::{Each, Family, Issue, Refusal, Spread, Strategy, build};
use crate::machine::HostMemory;
use crate::program::{BufferId, Program};
use crate::scenario::{Home, Workload};

/// Numbers of chunks to try where the scenario does not say.
const CHUNKS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// All batches together are cut into at most so many pieces of at least `SMALLEST_PIECE` elements:
/// beyond that, calls cost more than overlap gains.
const MOST_ITEMS: u64 = 128;
const SMALLEST_PIECE: u64 = 4096;

/// One way to do a workload: a strategy, and the program that it makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub strategy: Strategy,
    pub program: Program,
}

impl Plan {
    /// What reports call it.
    pub fn name(&self) -> String {
        self.program.label.clone()
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
    pub refused: Vec<Refusal>,
    /// CPU threads that the workload may use; `None` is all of them.
    pub cpu_threads: Option<usize>,
}

impl Candidates {
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
    let cpu_threads = workload.limits.cpu_threads;
    let mut found = Candidates { plans: Vec::new(), refused: Vec::new(), cpu_threads };
    let strategies = strategies(workload, gpus);
    found.refused.extend(too_small(workload, &strategies));
    for strategy in strategies {
        match build(workload, strategy).map(|program| Plan { strategy, program }) {
            // For small workloads, some strategies come to the same calls.
            Ok(plan)
                if found.plans.iter().any(|other| same_program(&other.program, &plan.program)) => {}
            Ok(plan) => found.plans.push(plan),
            Err(refusal) => found.refused.push(refusal),
        }
    }
    let is_named = |name: &String| name == "multi-gpu";
    if gpus.is_empty() && workload.plans.families.iter().any(is_named) {
        let (chunks, each, spread) = (1, Each::ByEngine, Spread::Host);
        let family = Family::MultiGpu { chunks, devices: 2, each, spread };
        let reason = "several GPUs are to be calibrated together first".to_owned();
        let strategy = Strategy { family, memory: HostMemory::Pinned, graph: false };
        found.refused.push(Refusal { strategy, reason, is_too_large: false });
    }
    found
}

/// Refusals of families that the scenario asks for but for which no number of chunks is sensible.
fn too_small(workload: &Workload, tried: &[Strategy]) -> impl Iterator<Item = Refusal> {
    let families = [
        Family::ByChunk { chunks: 1, streams: 2, issue: Issue::DepthFirst },
        Family::ByEngine { chunks: 1 },
        Family::Buffered { chunks: 1, ring: 2 },
    ];
    let refusal = |family| Refusal {
        strategy: Strategy { family, memory: HostMemory::Pinned, graph: false },
        reason: format!(
            "pieces would be too few to overlap, or have fewer than {SMALLEST_PIECE} elements; \
             `chunks` under `[plans]` says how many to cut, whatever their size"
        ),
        is_too_large: false,
    };
    let is_missing = |family: &Family| {
        let name = family.name();
        let is_asked_for = workload.plans.families.iter().any(|asked| asked == name);
        is_asked_for && !tried.iter().any(|strategy| strategy.family.name() == name)
    };
    families.into_iter().filter(is_missing).map(refusal)
}

/// Whether two programs differ in their label alone, if at all.
fn same_program(one: &Program, other: &Program) -> bool {
    one.body == other.body && one.setup == other.setup && one.allocations == other.allocations
}

fn strategies(workload: &Workload, gpus: &[usize]) -> Vec<Strategy> {
    let chosen = &workload.plans;
    let chunks: Vec<u64> = if chosen.chunks.is_empty() {
        let elements = workload.buffers.iter().map(|buffer| buffer.elements).max().unwrap_or(0);
        let sensible = |chunks: &u64| {
            let items = chunks * workload.batches;
            let is_cut_well = items <= MOST_ITEMS && elements / chunks >= SMALLEST_PIECE;
            // Whole batches can overlap, however many and however small they are.
            items >= 2 && (is_cut_well || *chunks == 1)
        };
        CHUNKS.into_iter().filter(sensible).collect()
    } else {
        chosen.chunks.clone()
    };
    let names = |wanted: &str| chosen.families.iter().any(|name| name == wanted);
    let wanted = |strategy: &Strategy| match strategy.graph {
        true if chosen.families.is_empty() => is_worth_capturing(strategy.family),
        _ => chosen.families.is_empty() || names(strategy.family_name()),
    };
    // If two strategies come to the same calls, the first gives its name to the plan. Data that
    // stays on the device makes no round trip, so `resident` comes first there.
    let is_there = workload.buffers.iter().any(|buffer| buffer.home == Home::Device);
    let whole = if is_there {
        [Family::Resident, Family::RoundTrip]
    } else {
        [Family::RoundTrip, Family::Resident]
    };
    let families = std::iter::once(Family::Cpu)
        .chain(whole)
        .chain(chunks.iter().flat_map(|&chunks| chunked(chunks, workload.batches)))
        .chain(gpus.iter().flat_map(|&gpus| over_several(workload, &chunks, gpus)));
    let typical = chunks.get(chunks.len() / 2).copied().unwrap_or(1);
    let mut strategies = Vec::new();
    for family in families {
        for memory in memories(workload, family, typical) {
            strategies.push(Strategy { family, memory, graph: false });
            if can_be_captured(family) && memory == HostMemory::Pinned {
                strategies.push(Strategy { family, memory, graph: true });
            }
        }
    }
    strategies.retain(wanted);
    strategies
}

/// Whether a family's plans can be graphs. They cannot if the host waits or computes in the middle,
/// and graphs over several GPUs are not calibrated.
const fn can_be_captured(family: Family) -> bool {
    !matches!(family, Family::Cpu | Family::RoundTrip | Family::MultiGpu { .. })
}

/// Whether to try a family as a graph unless the scenario asks for it. A graph has dependencies
/// instead of streams, so of families that differ in streams only, one is enough.
const fn is_worth_capturing(family: Family) -> bool {
    match family {
        Family::Resident | Family::ByEngine { .. } => true,
        Family::ByChunk { streams, issue, .. } => {
            streams == 4 && matches!(issue, Issue::DepthFirst)
        }
        Family::Cpu | Family::RoundTrip | Family::Buffered { .. } | Family::MultiGpu { .. } => {
            false
        }
    }
}

/// Kinds of host memory to try. A user can move from pageable memory to pinned memory; the other
/// way never pays.
fn memories(workload: &Workload, family: Family, typical: u64) -> Vec<HostMemory> {
    let has = |home| workload.buffers.iter().any(|buffer| buffer.home == home);
    match family {
        // Pinned memory is of use to the CPU only if data has to be copied from the device.
        Family::Cpu if !has(Home::Device) => vec![HostMemory::Pageable],
        _ if has(Home::Host(HostMemory::Pinned)) => vec![HostMemory::Pinned],
        Family::Cpu | Family::RoundTrip | Family::Resident => {
            vec![HostMemory::Pageable, HostMemory::Pinned]
        }
        // Copies of pageable memory hold the host thread, so no order of calls makes them overlap.
        // One chunked plan is enough to show it.
        Family::ByChunk { chunks, streams: 2, issue: Issue::DepthFirst } if chunks == typical => {
            vec![HostMemory::Pageable, HostMemory::Pinned]
        }
        _ => vec![HostMemory::Pinned],
    }
}

fn chunked(chunks: u64, batches: u64) -> Vec<Family> {
    let items = chunks * batches;
    let mut families = Vec::new();
    for streams in [2, 4] {
        if items >= streams as u64 {
            families.push(Family::ByChunk { chunks, streams, issue: Issue::DepthFirst });
        }
    }
    families.push(Family::ByChunk { chunks, streams: 4, issue: Issue::BreadthFirst });
    families.push(Family::ByEngine { chunks });
    for ring in [2, 3] {
        if items > ring as u64 {
            families.push(Family::Buffered { chunks, ring });
        }
    }
    families
}

/// Families that deal chunks over so many GPUs. Numbers of chunks that cannot be dealt evenly are
/// left out.
fn over_several(workload: &Workload, chunks: &[u64], devices: usize) -> Vec<Family> {
    let is_dealt = |chunks: &&u64| {
        let evenly = **chunks == 1 || chunks.is_multiple_of(devices as u64);
        evenly && **chunks * workload.batches >= devices as u64
    };
    let is_whole =
        |id: usize| workload.is_input(BufferId(id)) && workload.is_read_whole(BufferId(id));
    let has_whole = (0..workload.buffers.len()).any(is_whole);
    let mut families = Vec::new();
    for &chunks in chunks.iter().filter(is_dealt) {
        for each in [Each::ByEngine, Each::ByChunk { streams: 2 }] {
            for spread in [Spread::Host, Spread::Peers] {
                if spread == Spread::Host || (has_whole && chunks > 1) {
                    families.push(Family::MultiGpu { chunks, devices, each, spread });
                }
            }
        }
    }
    families
}
