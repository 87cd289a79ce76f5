//! An answer in one row: of one variation of a question, one machine, one point of a sweep.

use super::answer::Answer;
use super::verdict::Verdict;
use crate::cost::Bottleneck;
use crate::search::{Ranked, Ranking};
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is said of one variation of a question, where several stand below each other. A label or a
/// coordinate stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct InBrief {
    /// The answer for a whole program of `runs` passes, where that is known; else for one pass.
    pub answer: Answer,
    /// The answer for one pass in steady state.
    pub pass_answer: Answer,
    /// The plan to choose for one pass. `null`, as are its times, if no plan can be predicted.
    pub winner: Option<String>,
    /// Time of one pass of that plan.
    pub predicted_ns: Option<Span>,
    /// Lower end of the range that holds the true time nine times out of ten.
    pub low_ns: Option<Span>,
    /// Upper end of that range.
    pub high_ns: Option<Span>,
    /// What bounds that plan.
    pub bottleneck: Option<Bottleneck>,
    /// Time of one pass of the fastest plan on the CPU.
    pub cpu_ns: Option<Span>,
    /// Time of one pass of the fastest plan that is not the CPU's alone.
    pub gpu_ns: Option<Span>,
    /// The plan to choose for a whole program. `null` where the set-up of a plan is not known.
    pub program_winner: Option<String>,
    /// First use, set-up and all passes of that plan.
    pub program_ns: Option<Span>,
}

impl InBrief {
    /// What a ranking says of a workload that a program goes over `runs` times.
    pub fn of(ranking: &Ranking, runs: u64) -> Self {
        let Verdict { answer, pass_answer, .. } = Verdict::of(ranking).over(ranking, runs);
        let winner = ranking.winner();
        let (low_ns, high_ns) = winner.map(|best| best.forecast.interval()).unzip();
        let over_runs = ranking.winner_over(runs);
        Self {
            answer,
            pass_answer,
            winner: winner.map(|best| best.plan.name()),
            predicted_ns: winner.map(Ranked::makespan),
            low_ns,
            high_ns,
            bottleneck: winner.and_then(Ranked::bottleneck),
            cpu_ns: ranking.fastest_on_cpu().map(Ranked::makespan),
            gpu_ns: ranking.fastest_on_gpu().map(Ranked::makespan),
            program_winner: over_runs.map(|best| best.plan.name()),
            program_ns: over_runs.and_then(|best| best.program(runs)),
        }
    }
}
