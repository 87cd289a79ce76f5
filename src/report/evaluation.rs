//! What `hallway evaluate` found, as values: the table and the JSON show the same.

use super::Origin;
use super::assessed_plan::AssessedPlan;
use super::gate::Gate;
use super::in_brief::InBrief;
use super::verdict::Verdict;
use super::what_if::WhatIf;
use crate::kernels::Kernel;
use crate::profile::Profile;
use crate::program::BufferId;
use crate::scenario::Workload;
use crate::search::{
    BreakEven, Ranking, Shortage, Simplicity, Wins, keeps_size, largest_scaled, on_request,
};
use crate::units::{Bytes, Span};
use rayon::prelude::*;
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
    /// How they stand to an earlier evaluation, if one was named.
    pub gate: Option<Gate>,
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
    /// The simplest of all plans whose pass is hardly longer than the fastest one's, if it was
    /// sought.
    pub simplest: Option<Simplest>,
    /// Fastest pass first.
    pub plans: Vec<AssessedPlan>,
    /// Kernels that no trial of a calibration has, if this one had any.
    pub untried: Option<Vec<String>>,
    /// The plan to choose for a whole program of `runs` passes: the simplest of those that tie
    /// with the fastest, set-up and first use included.
    pub program_winner: Option<String>,
    /// A time that no schedule of the scenario's tasks goes below on this machine. `null` where
    /// there are no tasks, or one whose time is known on neither side.
    pub least_ns: Option<Span>,
    /// At which sizes the GPU wins. `null` where the profile does not know what it takes, or no
    /// size can be scaled.
    pub break_even: Option<Threshold>,
    /// A side none of whose plans fits into memory has an entry.
    pub no_room: Vec<NoRoom>,
    /// Families of plans that the scenario could ask for. They are not tried unasked, since few
    /// measured runs were scored against what is predicted of them.
    pub on_request: Vec<String>,
    /// Strategies that have no plan for this scenario.
    pub refused: Vec<LeftOut>,
    /// Plans that the profile cannot predict.
    pub unknown: Vec<LeftOut>,
    /// Plans whose set-up the profile cannot predict.
    pub unknown_setup: Vec<LeftOut>,
    /// The answer in brief, if it was asked what would be.
    pub today: Option<InBrief>,
    /// The answers if something were different.
    pub what_if: Vec<WhatIf>,
}

/// The simplest of some plans, as `winner` is the simplest of those that tie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Simplest {
    /// How much longer than the fastest pass it may take, as a share of that.
    pub within: f64,
    /// Name of the plan.
    pub plan: String,
    /// Streams that it uses.
    pub streams: usize,
    /// Events that it uses.
    pub events: usize,
    /// Host memory that it pins.
    pub pinned_bytes: Bytes,
}

impl Simplest {
    fn of(ranking: &Ranking, within: f64) -> Option<Self> {
        let plan = &ranking.simplest_within(within)?.plan;
        let Simplicity { streams, events, pinned, .. } = Simplicity::of(plan);
        Some(Self { within, plan: plan.name(), streams, events, pinned_bytes: pinned })
    }
}

/// At which sizes the GPU wins a pass, with the plans that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Threshold {
    /// Empty if none of the plans tried on the GPU beats the CPU at any size that was tried.
    pub gpu_wins: Vec<Wins>,
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
    /// What was found of some scenarios, with so many draws from a seed.
    pub fn new(
        (origin, profile): (Origin, &Profile),
        (draws, seed): (usize, u64),
        scenarios: Vec<Assessment>,
    ) -> Self {
        Self {
            profile: origin,
            seed,
            draws,
            trials: profile.trials(),
            context_ns: profile.setup.context.map(|context| context.span()),
            scenarios,
            gate: None,
        }
    }

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
        let plans = ranking.plans.par_iter().enumerate();
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
            simplest: None,
            plans: plans.collect(),
            untried: None,
            program_winner: ranking.winner_over(runs).map(|best| best.plan.name()),
            least_ns: None,
            break_even: break_even.and_then(|found| Threshold::new(workload, found)),
            no_room: Vec::new(),
            on_request: on_request(workload).iter().map(ToString::to_string).collect(),
            refused: refused.collect(),
            unknown: unknown.collect(),
            unknown_setup: unknown_setup.collect(),
            today: None,
            what_if: Vec::new(),
        }
    }

    /// Says below which time no schedule of the tasks goes.
    #[must_use]
    pub fn bounded(mut self, bound: Option<Span>) -> Self {
        // The bound is of the machine without scatter, times of plans are of the middle draw.
        let fastest = self.plans.first().map(|plan| plan.predicted_ns);
        self.least_ns = bound.map(|bound| fastest.map_or(bound, |fastest| bound.min(fastest)));
        self
    }

    /// Says which plan is the simplest that takes at most the share `within` longer than the
    /// fastest.
    #[must_use]
    pub fn simplest(mut self, ranking: &Ranking, within: f64) -> Self {
        self.simplest = Simplest::of(ranking, within);
        self
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
