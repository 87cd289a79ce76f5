//! What is found about one scenario on one machine.

use super::{
    AboveLeast, AssessedPlan, Certainty, Comparison, InBrief, MissingTime, Sizes, Threshold,
    Verdict, WhatIf,
};
use crate::scenario::{CpuCode, Workload};
use crate::search::{BreakEven, Ranked, Ranking, Shortage, Simplicity, on_request};
use crate::timeline::Lane;
use crate::units::{Bytes, Span};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;

/// One scenario, or one part of a scenario whose programs produce different results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assessment {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the part, if the scenario's programs produce different results: the key `result`, or
    /// the name of the first program. Each part gets its own answer.
    pub part: Option<String>,
    /// The question that the scenario asks.
    pub question: String,
    /// Number of runs in a whole program.
    pub runs: u64,
    /// The answer.
    pub verdict: Verdict,
    /// How certain the answer is. `null` if there is nothing to compare.
    pub certainty: Option<Certainty>,
    /// The chosen plan for one run: the simplest of those that tie with the fastest. The simplest
    /// plan is the one with the fewest GPUs, streams, events, pinned bytes, chunks, graphs, bytes
    /// of device memory and calls, compared in this order.
    pub winner: Option<String>,
    /// The chosen plan for a whole program of `runs` runs, including set-up and first use:
    /// `winner`, unless another plan takes clearly less time; then the simplest of those that tie
    /// with the fastest.
    pub program_winner: Option<String>,
    /// The simplest of all plans that are not much slower than the fastest, if this was requested.
    pub simplest: Option<Simplest>,
    /// The comparison for one run among only those plans that pin no host memory. `null` if no
    /// chosen plan pins memory, or if every plan does.
    pub without_pinning: Option<Comparison>,
    /// The chosen plan among those that compute only on GPUs. `null` unless the chosen plan overall
    /// shares the work between both sides.
    pub gpu_alone: Option<Comparison>,
    /// The chosen plan on the GPU, compared with simpler plans in the same kind of host memory:
    /// first the same calls without a graph, if it is a graph; then `resident`, which copies
    /// everything once; then `round-trip`, which copies for each task. Empty if there are no
    /// simpler plans, and for programs of the scenario.
    #[serde(default)]
    pub simpler_on_gpu: Vec<Comparison>,
    /// Whose code does the tasks on the CPU. If the scenario states the CPU's times, the CPU in the
    /// profile does not matter. `null` if there are no tasks.
    pub cpu_code: Option<CpuCode>,
    /// Time that a run of the CPU plan spends on copies from and to the device, for buffers whose
    /// home is the device. `null` if it copies nothing, or if the CPU plan is a program of the
    /// scenario.
    pub cpu_copies_ns: Option<Span>,
    /// All plans that could be predicted, fastest run first.
    pub plans: Vec<AssessedPlan>,
    /// Kernels that no calibration trial contained. `null` if the calibration had no trials.
    pub untried: Option<Vec<String>>,
    /// Lower bound for the time of any schedule of the scenario's tasks on this machine. `null` if
    /// there are no tasks, or if the time of a task is unknown on both sides.
    pub least_ns: Option<Span>,
    /// How far the fastest plan is above `least_ns`. `null` if it takes less than a fifth longer.
    #[serde(default)]
    pub above_least: Option<AboveLeast>,
    /// The sizes at which the GPU is faster. `null` if the profile cannot predict one of the sides,
    /// or if no size can be scaled.
    pub sizes: Option<Sizes>,
    /// One entry for each side on which no plan fits into memory.
    pub no_room: Vec<NoRoom>,
    /// Your own kernels that have no `grid`. Each is assumed to fill the GPU, so that no other
    /// kernel runs at the same time.
    pub without_grid: Vec<String>,
    /// Kernels whose missing time is the only reason why a side cannot be compared.
    pub missing_times: Vec<MissingTime>,
    /// Families of plans that are tried only if the scenario asks for them, because few of their
    /// predictions have been checked against runs.
    pub on_request: Vec<String>,
    /// The families of plans that the scenario asks for. Empty if it leaves the choice to hallway.
    #[serde(default)]
    pub families: Vec<String>,
    /// Plans that are not possible for this scenario.
    pub refused: Vec<LeftOut>,
    /// Plans that the profile cannot predict.
    pub unknown: Vec<LeftOut>,
    /// Plans whose set-up the profile cannot predict.
    pub unknown_setup: Vec<LeftOut>,
    /// The answer without any `--what-if` change, in brief. `null` if no change was given.
    pub today: Option<InBrief>,
    /// The answers with each `--what-if` change.
    pub what_if: Vec<WhatIf>,
}

/// The simplest of the plans that are not much slower than the fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simplest {
    /// How much longer than the fastest plan it may take, as a share of the fastest plan's time.
    pub within: f64,
    /// Name of the plan.
    pub plan: String,
    /// Number of streams.
    pub streams: usize,
    /// Number of events.
    pub events: usize,
    /// Amount of host memory that it pins.
    pub pinned_bytes: Bytes,
}

impl Assessment {
    /// Draws up what a ranking says about a workload that a program goes through `runs` times.
    pub fn new(
        workload: &Workload,
        runs: u64,
        ranking: &Ranking,
        break_even: Option<BreakEven>,
    ) -> Self {
        let plans = ranking.plans.par_iter().enumerate();
        let plans = plans.filter_map(|(index, ranked)| {
            Some(AssessedPlan::new(index + 1, ranked, ranking.fastest()?, runs))
        });
        let mut plans: Vec<AssessedPlan> = plans.collect();
        rank_programs(&mut plans);
        let left_out = |plan: String, reason: &dyn Display| {
            let reason = reason.to_string();
            LeftOut { plan, reason }
        };
        let refused = ranking.refused.iter();
        let refused = refused.map(|one| left_out(one.plan.clone(), &one.reason));
        let unknown = ranking.unknown.iter();
        let unknown = unknown.map(|(plan, unknown)| left_out(plan.name(), unknown));
        let unknown_setup = ranking
            .plans
            .iter()
            .filter_map(|ranked| Some(left_out(ranked.plan.name(), ranked.setup.as_ref().err()?)));
        let verdict = Verdict::of(ranking, runs);
        let sizes = break_even.and_then(|found| Sizes::new(workload, (ranking, &verdict), found));
        Self {
            scenario: workload.name.clone(),
            part: workload.part.clone(),
            question: workload.question.clone(),
            runs,
            certainty: verdict.deciding().and_then(|one| one.certainty.clone()),
            winner: ranking.winner().map(|best| best.plan.name()),
            program_winner: ranking.winner_over(runs).map(|best| best.plan.name()),
            simplest: None,
            without_pinning: Comparison::without_pinning(ranking),
            gpu_alone: Comparison::with_gpu_alone(ranking),
            simpler_on_gpu: Comparison::with_simpler_plans(ranking),
            cpu_code: workload.cpu_code(),
            cpu_copies_ns: ranking.best_on_cpu().and_then(copies_of),
            plans,
            untried: None,
            least_ns: None,
            above_least: None,
            sizes,
            no_room: Vec::new(),
            without_grid: names(workload.kernels_without_grid()),
            missing_times: Vec::new(),
            on_request: names(on_request(workload)),
            families: names(workload.plans.families.iter().map(|family| family.name())),
            refused: refused.collect(),
            unknown: unknown.collect(),
            unknown_setup: unknown_setup.collect(),
            today: None,
            what_if: Vec::new(),
            verdict,
        }
    }

    /// Adds the time that no schedule of the tasks goes below.
    #[must_use]
    pub fn bounded(mut self, bound: Option<Span>) -> Self {
        // The bound is of the machine without scatter, times of plans are of the middle draw.
        let fastest = self.plans.first();
        let below = |bound: Span| fastest.map_or(bound, |plan| bound.min(plan.predicted_ns));
        self.least_ns = bound.map(below);
        let far = fastest.zip(self.least_ns).and_then(|(plan, least)| AboveLeast::of(plan, least));
        self.above_least = far;
        self
    }

    /// Adds the plan that is the simplest of those that take at most the share `within` longer than
    /// the fastest.
    #[must_use]
    pub fn simplest(mut self, ranking: &Ranking, within: f64) -> Self {
        self.simplest = ranking.simplest_within(within).map(|Ranked { plan, .. }| {
            let Simplicity { streams, events, pinned, .. } = Simplicity::of(plan);
            Simplest { within, plan: plan.name(), streams, events, pinned_bytes: pinned }
        });
        self
    }

    /// Adds how much memory the sides lack of which no plan fits.
    #[must_use]
    pub fn short_of(mut self, shortages: &[Shortage]) -> Self {
        self.no_room = shortages.iter().map(NoRoom::from).collect();
        self
    }

    /// Adds the kernels' times that a side lacks.
    #[must_use]
    pub fn deciding(mut self, missing: &[MissingTime]) -> Self {
        self.missing_times = missing.to_vec();
        if let (Some(known), Some(missing)) = (&self.verdict.run, self.missing_times.first()) {
            self.certainty = Some(Certainty::without(missing, &known.chosen));
        }
        self
    }

    /// The scenario's name, with the part that this is.
    pub fn title(&self) -> String {
        titled(&self.scenario, self.part.as_deref())
    }

    /// The plan of a name.
    pub fn plan(&self, name: &str) -> Option<&AssessedPlan> {
        self.plans.iter().find(|plan| plan.plan == name)
    }

    /// The plan to choose for one run that uses the GPU.
    pub fn best_on_gpu(&self) -> Option<&AssessedPlan> {
        self.plan(self.verdict.plan_on(false)?)
    }

    /// At which sizes the GPU is faster, if that is known.
    pub fn threshold(&self) -> Option<&Threshold> {
        match self.sizes.as_ref()? {
            Sizes::Known(threshold) => Some(threshold),
            Sizes::Unknown(_) => None,
        }
    }

    /// What the answers to what-if assume, each once.
    pub fn assumptions(&self) -> Vec<&str> {
        let mut said = BTreeSet::new();
        let all = self.what_if.iter().flat_map(|one| &one.assumptions).map(String::as_str);
        all.filter(|assumption| said.insert(*assumption)).collect()
    }
}

/// The plan that comes closest to fitting into memory, if no plan on one side fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoRoom {
    /// True if no plan on the CPU fits, false if no plan on the GPU fits.
    pub on_cpu: bool,
    /// Name of the plan that comes closest to fitting.
    pub plan: String,
    /// Which memory is too small: `device`, `pinned` or `host`.
    pub memory: String,
    /// How much of this memory the plan needs.
    pub needs_bytes: Bytes,
    /// How much of it is available: the scenario's limit or, without one, what the machine has.
    pub has_bytes: Bytes,
    /// Which memory is too small and by how much, and what to do about it.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Name of the plan.
    pub plan: String,
    /// Why it is missing.
    pub reason: String,
}

/// A scenario's name, with a part of it.
pub fn titled(scenario: &str, part: Option<&str>) -> String {
    part.map_or_else(|| scenario.to_owned(), |part| format!("{scenario}, {part}"))
}

/// Gives plans their places by what the whole program takes, if that is known of all.
fn rank_programs(plans: &mut [AssessedPlan]) {
    let times: Option<Vec<(Span, usize)>> =
        plans.iter().enumerate().map(|(index, plan)| Some((plan.program_ns?, index))).collect();
    let mut times = times.unwrap_or_default();
    times.sort_unstable();
    for (place, (_, index)) in times.into_iter().enumerate() {
        plans[index].program_rank = Some(place + 1);
    }
}

fn names(all: impl IntoIterator<Item: ToString>) -> Vec<String> {
    all.into_iter().map(|one| one.to_string()).collect()
}

/// What of a plan for tasks on the CPU is copies.
fn copies_of(cpu: &Ranked) -> Option<Span> {
    cpu.plan.strategy?;
    let timeline = &cpu.forecast.timeline;
    let copies = timeline.busy(Lane::CopyIn) + timeline.busy(Lane::CopyOut);
    (copies > Span::ZERO).then_some(copies)
}
