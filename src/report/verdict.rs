//! The answer, in plain sentences.
//!
//! Two questions have an answer each: which side is faster in one pass, in steady state, and which
//! side wins a program of some number of passes, which pays for set-up and for the first use of
//! the GPU besides. Where the two differ, the program's answer is *the* answer, and comes first.

use super::answer::Answer;
use super::pass_in_words::{Opening, pass_in_words};
use super::words::{count, plural};
use crate::machine::Side;
use crate::profile::BorrowedCosts;
use crate::search::{BorrowedShare, Ranked, Ranking};
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer and how it is said. Keys are stable; the wording is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Verdict {
    /// The answer for a whole program of as many passes as the scenario's `runs`, where that is
    /// known; else for one pass.
    pub answer: Answer,
    /// The answer for one pass in steady state: without set-up and first use.
    pub pass_answer: Answer,
    /// From how many passes on the side that wins a pass wins the program, too. `null` where the
    /// answers are the same, or no number of passes is enough.
    pub from_runs: Option<u64>,
    /// The plan to choose on the GPU, for one pass.
    pub gpu_plan: Option<String>,
    /// The plan to choose on the CPU, for one pass.
    pub cpu_plan: Option<String>,
    /// How much of the time of the plans above is costs that the profile has from another machine.
    /// Empty where it has none.
    #[serde(default)]
    pub borrowed: Vec<BorrowedCost>,
    /// The answer in words. The wording may change from version to version.
    pub sentence: String,
}

/// Costs of one kind that the profile has from another machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BorrowedCost {
    /// Their kind.
    pub costs: BorrowedCosts,
    /// The profile that they come from.
    pub from: String,
    /// Their share of the time of a pass.
    pub share: f64,
}

impl From<&BorrowedShare> for BorrowedCost {
    fn from(BorrowedShare { costs, from, share, .. }: &BorrowedShare) -> Self {
        Self { costs: *costs, from: from.clone(), share: *share }
    }
}

/// A program's time that differs by less than this share decides nothing.
pub(super) const CLEARLY: f64 = 0.01;

impl Verdict {
    /// Sets the best plan of one side against the best of the other, a pass of each.
    pub fn of(ranking: &Ranking) -> Self {
        let answer = pass_answer(ranking);
        let name = |ranked: &Ranked| ranked.plan.name();
        Self {
            answer,
            pass_answer: answer,
            from_runs: None,
            gpu_plan: ranking.best_on_gpu().map(name),
            cpu_plan: ranking.best_on_cpu().map(name),
            borrowed: ranking.borrowed.iter().map(BorrowedCost::from).collect(),
            sentence: pass_in_words(ranking, answer, Opening::Answer),
        }
    }

    /// Answers for a program of so many passes. If another side wins it than wins a pass, or
    /// neither does, that is said first.
    #[must_use]
    pub fn over(mut self, ranking: &Ranking, runs: u64) -> Self {
        let Some([(gpu, of_gpu), (cpu, of_cpu)]) = programs(ranking, runs) else { return self };
        let (less, more) = (of_gpu.min(of_cpu), of_gpu.max(of_cpu));
        let is_clear = less.nanos_f64() < (1.0 - CLEARLY) * more.nanos_f64();
        self.answer = match ranking.sides_tie_over(runs) {
            Some(false) if is_clear && of_gpu < of_cpu => won_with(gpu),
            Some(false) if is_clear => Answer::Cpu,
            _ => Answer::Tie,
        };
        if self.answer == self.pass_answer {
            return self;
        }
        // Central times may cross before scatter leaves no doubt: what is a tie has no winner yet.
        self.from_runs = from_runs(ranking, self.pass_answer).filter(|&from| from > runs);
        let many = plural(runs, "run");
        let program = match self.answer {
            Answer::Cpu => format!(
                "Stay on the CPU for a program of {many}: it takes {of_cpu}, `{}` {}.",
                gpu.plan.name(),
                in_all(gpu, of_gpu)
            ),
            Answer::Gpu | Answer::Both => format!(
                "{} a program of {many}: `{}` takes {}, the CPU {}.",
                if self.answer == Answer::Both { "Both together win" } else { "GPU wins" },
                gpu.plan.name(),
                in_all(gpu, of_gpu),
                in_all(cpu, of_cpu)
            ),
            _ => format!(
                "A tie for a program of {many}: `{}` takes {}, the CPU {}.",
                gpu.plan.name(),
                in_all(gpu, of_gpu),
                in_all(cpu, of_cpu)
            ),
        };
        let wins_from = self.from_runs.map(|from| {
            let who = match self.pass_answer {
                Answer::Both => "Both together take less",
                Answer::Gpu => "The GPU takes less",
                _ => "The CPU takes less",
            };
            format!(" {who} from about {} runs on.", count(from))
        });
        let wins_from = wins_from.unwrap_or_default();
        let pass = pass_in_words(ranking, self.pass_answer, Opening::AfterProgram);
        self.sentence = format!("{program}{wins_from} {pass}");
        self
    }
}

/// The plans to choose for a program of so many passes on the GPU and on the CPU, with the times of
/// the program. `None` if either is not known.
pub(super) fn programs(ranking: &Ranking, runs: u64) -> Option<[(&Ranked, Span); 2]> {
    let side = |on_cpu: bool| {
        let choice = ranking.choice_over(runs, |ranked| ranked.is_cpu() == on_cpu)?;
        Some((choice, choice.program(runs)?))
    };
    Some([side(false)?, side(true)?])
}

/// Who wins a pass, by the fastest plan of each side.
fn pass_answer(ranking: &Ranking) -> Answer {
    match (ranking.fastest_on_gpu(), ranking.fastest_on_cpu()) {
        (Some(gpu), Some(cpu)) if gpu.forecast.ties_with(&cpu.forecast) => Answer::Tie,
        (Some(gpu), Some(cpu)) if gpu.makespan() < cpu.makespan() => {
            won_with(ranking.best_on_gpu().unwrap_or(gpu))
        }
        (Some(_), Some(_)) => Answer::Cpu,
        _ => Answer::NothingToCompare,
    }
}

/// The answer if a plan wins that is not the CPU's alone.
fn won_with(plan: &Ranked) -> Answer {
    if plan.plan.side() == Side::Both { Answer::Both } else { Answer::Gpu }
}

/// The fewest passes with which the side that wins a pass wins the program.
fn from_runs(ranking: &Ranking, winner: Answer) -> Option<u64> {
    let on_cpu = match winner {
        Answer::Cpu => true,
        Answer::Gpu | Answer::Both => false,
        Answer::Tie | Answer::NothingToCompare => return None,
    };
    let of_side = |wanted: bool| ranking.plans.iter().filter(move |one| one.is_cpu() == wanted);
    let known =
        |one: &Ranked| Some((one.before_first_pass()?.nanos_f64(), one.makespan().nanos_f64()));
    // A plan has to beat each plan of the other side, and one that does is enough.
    let beats = |one: &Ranked, other: &Ranked| {
        let ((before, pass), (before_other, pass_other)) = (known(one)?, known(other)?);
        let gain = pass_other - pass;
        (gain > 0.0).then(|| ((before - before_other) / gain).floor().max(0.0) as u64 + 1)
    };
    let beats_all = |one: &Ranked| {
        let needed = of_side(!on_cpu).map(|other| beats(one, other));
        needed.collect::<Option<Vec<u64>>>()?.into_iter().max()
    };
    of_side(on_cpu).filter_map(beats_all).min()
}

/// A program's time, and what of it comes before the first pass.
fn in_all(ranked: &Ranked, program: Span) -> String {
    let setup = ranked.setup.as_ref().copied().unwrap_or_default();
    let first_use = ranked.first_use.known;
    match (setup > Span::ZERO, first_use > Span::ZERO) {
        (false, false) => program.to_string(),
        (true, false) => format!("{program} (set-up {setup})"),
        (_, true) => format!("{program} (first use {first_use}, set-up {setup})"),
    }
}
