//! An answer in one row: of one variation of a question, one machine, one point of a sweep.

use super::contender::Contender;
use super::{Answer, Verdict, probability_faster, rounded};
use crate::cost::Bottleneck;
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use crate::what_if::{SEARCHED, TurningFactor};
use serde::{Deserialize, Serialize};

/// The answer to one variant of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InBrief {
    /// The answer for a whole program of `runs` runs, if it is known; otherwise for one run.
    pub answer: Answer,
    /// The answer for one run in steady state.
    pub run_answer: Answer,
    /// The chosen plan for one run. This key and its times are `null` if no plan can be predicted.
    pub winner: Option<String>,
    /// Time of one run of that plan.
    pub predicted_ns: Option<Span>,
    /// Lower end of the range of that time.
    pub low_ns: Option<Span>,
    /// Upper end of that range.
    pub high_ns: Option<Span>,
    /// What limits that plan.
    pub bottleneck: Option<Bottleneck>,
    /// Time of one run of the fastest plan on the CPU.
    pub cpu_ns: Option<Span>,
    /// Both ends of its range.
    #[serde(default)]
    pub cpu_range_ns: Option<[Span; 2]>,
    /// Time of one run of the fastest plan that does not use the CPU alone.
    pub gpu_ns: Option<Span>,
    /// Both ends of its range.
    #[serde(default)]
    pub gpu_range_ns: Option<[Span; 2]>,
    /// The probability that the one predicted to be the faster of these two plans really is. `null`
    /// if there is only one of them.
    #[serde(default)]
    pub probability: Option<f64>,
    /// The chosen plan for a whole program. `null` if the set-up of a plan is unknown.
    pub program_winner: Option<String>,
    /// Total time of that plan: first use, set-up and all runs.
    pub program_ns: Option<Span>,
}

impl InBrief {
    /// What a ranking says of a workload that a program goes through `runs` times.
    pub fn of(ranking: &Ranking, runs: u64) -> Self {
        let Verdict { answer, run_answer, .. } = Verdict::of(ranking, runs);
        let winner = ranking.winner();
        let (low_ns, high_ns) = winner.map(|best| best.forecast.interval()).unzip();
        let over_runs = ranking.winner_over(runs);
        let [cpu, gpu] = [ranking.fastest_on_cpu(), ranking.fastest_on_gpu()];
        let range = |one: Option<&Ranked>| one.map(|one| one.forecast.interval().into());
        let probability = cpu.zip(gpu).map(|(cpu, gpu)| {
            let mut both = [cpu, gpu].map(Contender::run);
            both.sort_by_key(|one| one.time_ns);
            rounded(probability_faster([&both[0], &both[1]], 0.0, 0.0))
        });
        Self {
            answer,
            run_answer,
            winner: winner.map(|best| best.plan.name()),
            predicted_ns: winner.map(Ranked::makespan),
            low_ns,
            high_ns,
            bottleneck: winner.and_then(Ranked::bottleneck),
            cpu_ns: cpu.map(Ranked::makespan),
            cpu_range_ns: range(cpu),
            gpu_ns: gpu.map(Ranked::makespan),
            gpu_range_ns: range(gpu),
            probability,
            program_winner: over_runs.map(|best| best.plan.name()),
            program_ns: over_runs.and_then(|best| best.program(runs)),
        }
    }
}

/// The answer for a hypothetical machine or program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIf {
    /// The change, as given to `--what-if`.
    pub change: String,
    #[serde(flatten)]
    pub answer: InBrief,
    /// The factor at which the answer for one run changes. `null` if the change scales nothing or
    /// several things, or if a side has no plan.
    pub turning: Option<Turning>,
    /// Assumptions that have not been checked by measurements.
    pub assumptions: Vec<String>,
    /// Why no plan can be predicted, if none can.
    pub unknown: Option<String>,
}

/// The factor beyond which the other side is faster in one run, among the plans that the search for
/// a break-even tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turning {
    /// The factor closest to 1. `null` if the answer changes at no factor that was tried.
    pub at: Option<f64>,
    /// The side that is faster beyond this factor.
    pub to: Option<Answer>,
    /// The smallest and the largest factor that were tried.
    pub tried: [f64; 2],
}

impl Turning {
    pub fn of(turn: Option<&TurningFactor>) -> Self {
        let side = |turn: &TurningFactor| if turn.to_gpu { Answer::Gpu } else { Answer::Cpu };
        Self { at: turn.map(|turn| turn.at), to: turn.map(side), tried: SEARCHED }
    }
}
