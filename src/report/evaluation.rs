//! What `hallway evaluate` found, as values: the table and the JSON show the same.

use super::Origin;
use super::host_thread::HostThread;
use super::lanes::{Bottleneck, bottleneck};
use super::verdict::Verdict;
use super::words::rounded;
use crate::cost::Pinning;
use crate::kernels::Kernel;
use crate::machine::HostMemory;
use crate::program::BufferId;
use crate::scenario::Workload;
use crate::search::{BreakEven, Ranked, Ranking, Shortage, Sizes, keeps_size, largest_scaled};
use crate::timeline::{Lane, Timeline};
use crate::units::{Bytes, Span};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that is said about some scenarios on one machine.
///
/// These names are the keys of the JSON form; they are stable. Times end in
/// `_ns` and are whole nanoseconds; shares go from 0 to 1. Every key is always there: what is
/// not known, or does not apply, is `null` and never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Evaluation {
    /// The profile that predictions are made from.
    pub profile: Origin,
    /// Seed of the draws behind every range.
    pub seed: u64,
    /// Number of draws behind every range.
    pub draws: usize,
    /// Trials that decided how wide ranges are.
    pub trials: usize,
    /// What it takes to create a context on the GPU. It is in every `first_use_ns` of a plan whose
    /// process has not used the GPU before.
    pub context_ns: Option<Span>,
    /// The scenarios, in the order in which they were named.
    pub scenarios: Vec<Assessment>,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Assessment {
    /// Its name.
    pub scenario: String,
    /// What it asks.
    pub question: String,
    /// Passes over the workload in a whole program.
    pub runs: u64,
    /// The answer.
    pub verdict: Verdict,
    /// The plan to choose for one pass: the simplest of those that tie with the fastest. Simplest
    /// is what has the fewest GPUs, streams, events, pinned bytes, chunks, graphs, bytes of device
    /// memory and calls, compared in this order.
    pub winner: Option<String>,
    /// Fastest pass first.
    pub plans: Vec<AssessedPlan>,
    /// Kernels that no trial of a calibration has, if this one had any.
    pub untried: Option<Vec<String>>,
    /// The plan to choose for a whole program of `runs` passes: the simplest of those that tie
    /// with the fastest, set-up and first use included.
    pub program_winner: Option<String>,
    /// At which sizes the GPU wins. `null` where the profile does not know what it takes, or no
    /// size can be scaled.
    pub break_even: Option<Threshold>,
    /// A side none of whose plans fits into memory has an entry.
    pub no_room: Vec<NoRoom>,
    /// Strategies that have no plan for this scenario.
    pub refused: Vec<LeftOut>,
    /// Plans that the profile cannot predict.
    pub unknown: Vec<LeftOut>,
    /// Plans whose set-up the profile cannot predict.
    pub unknown_setup: Vec<LeftOut>,
}

/// The family of programs that a scenario spells out.
pub(super) const SPELLED_OUT: &str = "spelled-out";

/// A predicted plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AssessedPlan {
    /// Counted from 1.
    pub rank: usize,
    /// Name of the plan.
    pub plan: String,
    /// Digest of everything that the plan does: equal plans have equal digests.
    pub identity: String,
    /// Family of the plan, as `families` of a scenario names it.
    pub family: String,
    /// Kind of host memory that the plan works with.
    pub host_memory: HostMemory,
    /// Whether all kernels run on the CPU.
    pub on_cpu: bool,
    /// Time of one pass over the body, in steady state.
    pub predicted_ns: Span,
    /// Lower end of the range that holds the true time nine times out of ten.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// How many times as long as the fastest plan it takes.
    pub relative: f64,
    /// Whether scatter leaves open if it is slower than the fastest plan.
    pub ties_with_fastest: bool,
    /// How busy each part of the machine is.
    pub busy: Busy,
    /// How long the host thread is held.
    pub host_thread: HostThread,
    /// What bounds the plan.
    pub bottleneck: Bottleneck,
    /// What the longest chain of dependent work consists of.
    pub critical_path: CriticalPathShares,
    /// The least that this plan's calls take in the order that the plan has them in. Another plan
    /// may take less.
    pub lower_bound_ns: Span,
    /// What a process pays once, besides set-up, because it does something for the first time: it
    /// creates a context, loads the kernels' module, touches its output. `null` where the profile
    /// does not know one of these.
    pub first_use_ns: Option<Span>,
    /// Time of the set-up. `null` where the profile does not know what memory management costs.
    pub setup_ns: Option<Span>,
    /// `null` where set-up pins nothing.
    pub pinning: Option<PinningPrices>,
    /// First use (as far as it is known), set-up, and as many passes as the program has.
    pub program_ns: Option<Span>,
}

/// What it costs to have a plan's buffers in pinned memory, in two ways. `null` is what the profile
/// does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PinningPrices {
    /// Size of all buffers that set-up pins.
    pub bytes: Bytes,
    /// Registering them where they are. `setup_ns` has this.
    pub register_ns: Option<Span>,
    /// Allocating as much pinned memory instead.
    pub allocate_ns: Option<Span>,
    /// Copying all of them once into that memory, or out of it, by all threads of the CPU.
    pub copy_ns: Option<Span>,
    /// Time of a pass without pinning: of the same calls where a scenario spells them out, else of
    /// the fastest plan on the GPU whose set-up pins nothing.
    pub unpinned_pass_ns: Option<Span>,
    /// From how many passes on registering takes less time than pinning saves. `null` if it saves
    /// nothing.
    pub pays_from_runs: Option<u64>,
}

impl PinningPrices {
    fn of(ranked: &Ranked) -> Option<Self> {
        let &Pinning { bytes, register, allocate, copy } = ranked.pinning.as_ref()?;
        Some(Self {
            bytes,
            register_ns: register,
            allocate_ns: allocate,
            copy_ns: copy,
            unpinned_pass_ns: ranked.unpinned,
            pays_from_runs: ranked.pinning_pays_from(),
        })
    }
}

/// Shares of the pass during which each lane does something. A copy of pageable memory counts for
/// as long as it is staged, though the link carries it in a part of that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Busy {
    /// Copies to the device.
    pub h2d: f64,
    /// Kernels on the device.
    pub kernels: f64,
    /// Copies to the host.
    pub d2h: f64,
}

/// Shares of the makespan that the critical path spends in each lane, and
/// between activities: hand-overs, latencies and waking up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CriticalPathShares {
    /// Calls and work of the host.
    pub host: f64,
    /// Copies to the device.
    pub h2d: f64,
    /// Kernels on the device.
    pub kernels: f64,
    /// Copies to the host.
    pub d2h: f64,
    /// From GPU to GPU.
    pub p2p: f64,
    /// Hand-overs, latencies and waking up.
    pub gaps: f64,
}

impl CriticalPathShares {
    fn of(timeline: &Timeline) -> Self {
        let path = timeline.critical_path();
        let makespan = timeline.makespan.nanos_f64().max(1.0);
        let share = |time: Span| rounded(time.nanos_f64() / makespan);
        Self {
            host: share(path.on(Lane::Host)),
            h2d: share(path.on(Lane::CopyIn)),
            kernels: share(path.on(Lane::Kernels)),
            d2h: share(path.on(Lane::CopyOut)),
            p2p: share(path.on(Lane::PeerCopy)),
            gaps: share(path.gaps()),
        }
    }
}

/// At which sizes the GPU wins a pass, with the plans that were tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Threshold {
    /// Empty if none of the plans tried on the GPU beats the CPU at any size that was tried.
    pub gpu_wins: Vec<Sizes>,
    /// The smallest and the largest size tried.
    pub tried: [u64; 2],
    /// From about so many elements on, none of the plans tried on the GPU fits into memory.
    pub too_large_for_gpu: Option<u64>,
    /// From about so many elements on, none of the plans tried on the CPU fits into memory.
    pub too_large_for_cpu: Option<u64>,
    /// The buffer whose elements are counted: the largest of those that are scaled.
    pub buffer: String,
    /// How many elements it has in the scenario.
    pub elements: u64,
    /// Buffers that keep their size: what tasks read whole, and results of reductions.
    pub fixed: Vec<String>,
}

/// The plan that comes nearest to fitting, where none on the CPU or none on the GPU fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NoRoom {
    /// Whether it is about plans on the CPU.
    pub on_cpu: bool,
    /// Name of the plan that comes nearest to fitting.
    pub plan: String,
    /// Which memory is short: `device`, `pinned` or `host`.
    pub memory: String,
    /// How much of it the plan needs.
    pub needs_bytes: Bytes,
    /// What the scenario's limits, or else the machine, let it have.
    pub has_bytes: Bytes,
    /// Which memory is short and by how much, in words, and what to do about it.
    pub reason: String,
}

impl From<&Shortage> for NoRoom {
    fn from(shortage: &Shortage) -> Self {
        let Shortage { strategy, lacks, way_out } = shortage;
        let way_out = way_out.as_ref().map_or(String::new(), |way| format!("; or {way}"));
        Self {
            on_cpu: strategy.is_on_cpu(),
            plan: strategy.to_string(),
            memory: lacks.memory.to_owned(),
            needs_bytes: lacks.needs,
            has_bytes: lacks.has,
            reason: format!("{lacks}{way_out}"),
        }
    }
}

/// A plan that is missing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LeftOut {
    /// Name of the plan.
    pub plan: String,
    /// Why it is missing.
    pub reason: String,
}

impl Evaluation {
    /// The JSON form, with a newline at its end.
    pub fn json(&self) -> String {
        super::json(self)
    }

    /// The scenarios of which nothing could be predicted.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let nothing = self.scenarios.iter().filter(|one| one.plans.is_empty());
        nothing.map(|one| one.scenario.as_str())
    }
}

impl Assessment {
    /// Draws up what a ranking says about a workload that a program goes over
    /// `runs` times.
    pub fn new(
        workload: &Workload,
        runs: u64,
        ranking: &Ranking,
        break_even: Option<BreakEven>,
    ) -> Self {
        let fastest = ranking.fastest();
        let plans = ranking.plans.iter().enumerate();
        let plans = plans.filter_map(|(index, ranked)| {
            fastest.map(|fastest| AssessedPlan::new(index + 1, ranked, fastest, runs))
        });
        let refused = ranking
            .refused
            .iter()
            .map(|refusal| LeftOut { plan: refusal.plan.clone(), reason: refusal.reason.clone() });
        let unknown = ranking
            .unknown
            .iter()
            .map(|(plan, unknown)| LeftOut { plan: plan.name(), reason: unknown.to_string() });
        let unknown_setup = ranking.plans.iter().filter_map(|ranked| {
            let reason = ranked.setup.as_ref().err()?.to_string();
            Some(LeftOut { plan: ranked.plan.name(), reason })
        });
        Self {
            scenario: workload.name.clone(),
            question: workload.question.clone(),
            runs,
            verdict: Verdict::of(ranking).over(ranking, runs),
            winner: ranking.winner().map(|best| best.plan.name()),
            plans: plans.collect(),
            untried: None,
            program_winner: ranking.winner_over(runs).map(|best| best.plan.name()),
            break_even: break_even.and_then(|found| Threshold::new(workload, found)),
            no_room: Vec::new(),
            refused: refused.collect(),
            unknown: unknown.collect(),
            unknown_setup: unknown_setup.collect(),
        }
    }

    /// Says which kernels the trials behind every range did not have.
    #[must_use]
    pub fn without_trials_of(mut self, kernels: impl Iterator<Item = Kernel>) -> Self {
        self.untried = Some(kernels.map(|kernel| kernel.name().to_owned()).collect());
        self
    }

    /// Says of the sides that have no plan how much memory they lack.
    #[must_use]
    pub fn short_of(mut self, shortages: &[Shortage]) -> Self {
        self.no_room = shortages.iter().map(NoRoom::from).collect();
        for NoRoom { on_cpu, plan, reason, .. } in &self.no_room {
            let side = if *on_cpu { "CPU" } else { "GPU" };
            self.verdict.sentence += &format!(
                " None of the plans tried on the {side} fits into memory: `{plan}`, which comes \
                 nearest, {reason}."
            );
        }
        self
    }
}

impl AssessedPlan {
    fn new(rank: usize, ranked: &Ranked, fastest: &Ranked, runs: u64) -> Self {
        let Ranked { plan, forecast, setup, first_use, bound, .. } = ranked;
        let timeline = &forecast.timeline;
        let (low_ns, high_ns) = forecast.interval();
        let least = fastest.makespan().nanos_f64().max(1.0);
        let share = |lane| rounded(timeline.utilisation(lane));
        Self {
            rank,
            plan: plan.name(),
            identity: plan.identity(),
            family: plan
                .strategy
                .map_or_else(|| SPELLED_OUT.to_owned(), |one| one.family.name().to_string()),
            host_memory: plan.host_memory(),
            on_cpu: ranked.is_cpu(),
            predicted_ns: ranked.makespan(),
            low_ns,
            high_ns,
            relative: rounded(ranked.makespan().nanos_f64() / least),
            ties_with_fastest: rank > 1 && ranked.forecast.ties_with(&fastest.forecast),
            busy: Busy {
                h2d: share(Lane::CopyIn),
                kernels: share(Lane::Kernels),
                d2h: share(Lane::CopyOut),
            },
            host_thread: HostThread::of(&plan.program, timeline),
            bottleneck: bottleneck(&plan.program, timeline),
            critical_path: CriticalPathShares::of(timeline),
            lower_bound_ns: *bound,
            first_use_ns: first_use.missing.is_none().then_some(first_use.known),
            setup_ns: setup.as_ref().ok().copied(),
            pinning: PinningPrices::of(ranked),
            program_ns: ranked.program(runs),
        }
    }
}

impl Threshold {
    fn new(workload: &Workload, found: BreakEven) -> Option<Self> {
        let BreakEven { gpu_wins, tried, too_large_for_gpu, too_large_for_cpu } = found;
        let largest = largest_scaled(workload)?;
        let fixed = workload.buffers.iter().enumerate();
        let fixed = fixed.filter(|&(id, _)| keeps_size(workload, BufferId(id)));
        let fixed = fixed.map(|(_, buffer)| buffer.name.clone()).collect();
        let (buffer, elements) = (largest.name.clone(), largest.elements);
        Some(Self {
            gpu_wins,
            tried,
            too_large_for_gpu,
            too_large_for_cpu,
            buffer,
            elements,
            fixed,
        })
    }
}
