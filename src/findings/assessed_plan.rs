//! What an evaluation says of one plan.

use super::host_thread::HostThread;
use super::rounded;
use crate::cost::{Bottleneck, Pinning, Taken};
use crate::machine::{HostMemory, Side};
use crate::search::Ranked;
use crate::simulate::Gain;
use crate::timeline::{Lane, Timeline};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// The family of programs that a scenario spells out.
pub const SPELLED_OUT: &str = "spelled-out";

/// A predicted plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssessedPlan {
    /// Rank by the time of one run, counted from 1.
    pub rank: usize,
    /// Name of the plan.
    pub plan: String,
    /// Digest of everything that the plan does; equal plans have equal digests.
    pub identity: String,
    /// Family of the plan, as named in a scenario's `families`, or `spelled-out`.
    pub family: String,
    /// Number of chunks that each batch is split into. `null` for a program of the scenario.
    pub chunks: Option<u64>,
    /// Number of buffers that chunks or pieces of copies use in turn, on the device or pinned on
    /// the host. `null` if each chunk or piece has its own buffer.
    pub ring: Option<usize>,
    /// Number of streams.
    pub streams: usize,
    /// Number of GPUs.
    pub gpus: usize,
    /// Whether its calls are captured as a graph once and launched as a graph in each run.
    pub captured: bool,
    /// Kind of host memory that the plan uses.
    pub host_memory: HostMemory,
    /// Whether it pins host memory, by registering it or by allocating pinned memory of its own.
    pub pins: bool,
    /// Total amount of pinned host memory.
    pub pinned_bytes: Bytes,
    /// Largest amount of memory that it uses on any one GPU.
    pub device_bytes: Bytes,
    /// The processors that compute.
    pub side: Side,
    /// Predicted time of one run in steady state.
    pub predicted_ns: Span,
    /// Lower end of the range of that time: the middle 90% of the simulated draws, widened by the
    /// errors of the calibration trials.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// Its time divided by that of the fastest plan.
    pub relative: f64,
    /// True if its time cannot be distinguished from that of the fastest plan, given the
    /// measurement scatter.
    pub ties_with_fastest: bool,
    /// Utilisation of each part of the machine.
    pub busy: Busy,
    /// How long the host thread is blocked.
    pub host_thread: HostThread,
    /// What limits the plan: the group of costs that saves the most time if halved. `null` for a
    /// plan that was dropped early, unless it is the fastest of its family.
    pub bottleneck: Option<Bottleneck>,
    /// Share of a run that halving each group of costs saves, largest first, down to 1%.
    #[serde(default)]
    pub gains: Vec<Gain>,
    /// Kernels whose stated times have no range. The plan's range treats these times as exact.
    /// Omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated_without_range: Vec<String>,
    /// Composition of the critical path, the longest chain of dependent work.
    pub critical_path: CriticalPathShares,
    /// Lower bound for the time of this plan's calls in this order. Other plans may be faster.
    pub lower_bound_ns: Span,
    /// One-time cost of first use, in addition to set-up: creating a context, loading the module
    /// with the kernels, touching output memory. `null` if the profile lacks one of these costs.
    pub first_use_ns: Option<Span>,
    /// Time of the set-up. `null` if the profile lacks the costs of memory management.
    pub setup_ns: Option<Span>,
    /// Costs of pinned memory. `null` if the set-up pins nothing.
    pub pinning: Option<PinningPrices>,
    /// Costs of additional host memory. Omitted if the set-up allocates no pinned, write-combined
    /// or managed memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<TakenPrices>,
    /// Rank by the time of the whole program, counted from 1. `null` if this time is unknown for
    /// any plan.
    #[serde(default)]
    pub program_rank: Option<usize>,
    /// Total time: first use (as far as known), set-up and all runs.
    pub program_ns: Option<Span>,
    /// Lower end of the range of the total time, with every run at the lower end of its range.
    pub program_low_ns: Option<Span>,
    /// Upper end of that range.
    pub program_high_ns: Option<Span>,
}

/// Costs of the two ways to get a plan's buffers into pinned memory. Costs that the profile lacks
/// are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinningPrices {
    #[serde(flatten)]
    pub prices: Pinning,
    /// Time of a run without pinning: of the same calls if the scenario spells them out, otherwise
    /// of the fastest plan on the same side that pins nothing and allocates no pinned memory.
    pub unpinned_pass_ns: Option<Span>,
    /// Number of runs after which pinning has saved more time than registering (and unregistering,
    /// if known) takes. `null` if it saves nothing.
    pub pays_from_runs: Option<u64>,
}

/// Costs of a plan's own pinned, write-combined or managed memory. Costs that the profile lacks are
/// `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TakenPrices {
    #[serde(flatten)]
    pub prices: Taken,
    /// Time of a run of the fastest plan on the same side that allocates no such memory and pins
    /// nothing.
    pub without_pass_ns: Option<Span>,
    /// Number of runs after which this memory has saved more time than allocating it (and freeing
    /// it, if known) takes. `null` if it saves nothing.
    pub pays_from_runs: Option<u64>,
}

/// Share of a run during which each lane is busy. A copy of pageable memory counts for as long as
/// it is staged, although it occupies the link for only part of that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Busy {
    /// Copies to the device.
    pub h2d: f64,
    /// Kernels on the device.
    pub kernels: f64,
    /// Copies to the host.
    pub d2h: f64,
}

/// Shares of the makespan that the critical path spends in each lane and in the gaps between
/// activities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathShares {
    /// Calls and work on the host.
    pub host: f64,
    /// Copies to the device.
    pub h2d: f64,
    /// Kernels on the device.
    pub kernels: f64,
    /// Copies to the host.
    pub d2h: f64,
    /// Copies from GPU to GPU.
    pub p2p: f64,
    /// Hand-overs, latencies and wake-ups.
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

/// Gains of less than this are not worth a line.
const LEAST_GAIN: f64 = 0.01;

impl AssessedPlan {
    pub(super) fn new(rank: usize, ranked: &Ranked, fastest: &Ranked, runs: u64) -> Self {
        let Ranked { plan, forecast, setup, first_use, bound, .. } = ranked;
        let timeline = &forecast.timeline;
        let (low_ns, high_ns) = forecast.interval();
        let in_all = ranked.program_interval(runs);
        let least = fastest.makespan().nanos_f64().max(1.0);
        let makespan = timeline.makespan.nanos_f64().max(1.0);
        let share = |lane| rounded(timeline.busy(lane).nanos_f64() / makespan);
        let gains = ranked.gains.iter().flat_map(|gains| &gains.0);
        let gains = gains.filter(|gain| gain.share >= LEAST_GAIN);
        let gains = gains.map(|gain| Gain { share: rounded(gain.share), ..*gain });
        let (strategy, stated) = (plan.strategy, plan.program.stated_without_range());
        Self {
            rank,
            plan: plan.name(),
            identity: plan.identity(),
            family: strategy
                .map_or_else(|| SPELLED_OUT.to_owned(), |one| one.family.name().to_string()),
            chunks: strategy.map(|one| one.family.chunks()),
            ring: strategy.and_then(|one| one.family.traits().ring),
            streams: plan.program.streams.len(),
            gpus: plan.program.devices(),
            captured: plan.program.has_graphs(),
            host_memory: plan.host_memory(),
            pins: plan.program.pins(),
            pinned_bytes: plan.program.pinned_bytes(),
            device_bytes: plan.program.device_bytes(),
            side: plan.side(),
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
            host_thread: HostThread::of(&plan.program, forecast),
            bottleneck: ranked.bottleneck(),
            gains: gains.collect(),
            stated_without_range: stated.into_iter().map(str::to_owned).collect(),
            critical_path: CriticalPathShares::of(timeline),
            lower_bound_ns: *bound,
            first_use_ns: first_use.missing.is_none().then_some(first_use.known),
            setup_ns: setup.as_ref().ok().copied(),
            pinning: ranked.pinning.clone().map(|prices| PinningPrices {
                prices,
                unpinned_pass_ns: ranked.unpinned,
                pays_from_runs: ranked.pinning_pays_from(),
            }),
            taken: ranked.taken.clone().map(|prices| TakenPrices {
                prices,
                without_pass_ns: ranked.unpinned,
                pays_from_runs: ranked.taking_pays_from(),
            }),
            program_rank: None,
            program_ns: ranked.program(runs),
            program_low_ns: in_all.map(|(low, _)| low),
            program_high_ns: in_all.map(|(_, high)| high),
        }
    }
}
