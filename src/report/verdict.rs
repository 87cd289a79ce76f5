//! The answer, in plain sentences.
//!
//! Two questions have an answer each: which side is faster in one pass, in steady state, and which
//! side wins a program of some number of passes, which pays for set-up and for the first use of
//! the GPU besides. Where the two differ, the program's answer is *the* answer, and comes first.

use super::words::{count, percent, plural, times, times_as_long, with_range};
use crate::machine::{HostMemory, Side};
use crate::profile::BorrowedCosts;
use crate::search::{BorrowedShare, Ranked, Ranking};
use crate::timeline::Lane;
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where a workload should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The GPU is faster.
    Gpu,
    /// The CPU is faster.
    Cpu,
    /// Both together are faster than the CPU alone, and than GPUs alone.
    Both,
    /// The machine's scatter does not settle which is faster.
    Tie,
    /// There are plans on one side only, or none.
    NothingToCompare,
}

impl Answer {
    /// For a cell of a table.
    pub(super) const fn in_a_word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
            Self::Both => "both",
            Self::Tie => "tie",
            Self::NothingToCompare => "-",
        }
    }

    /// For a sentence.
    pub(super) const fn said(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU",
            Self::Cpu => "the CPU",
            Self::Both => "both together",
            Self::Tie => "a tie",
            Self::NothingToCompare => "nothing to compare",
        }
    }
}

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

/// Below this share of a pass, borrowed costs decide nothing.
const OF_WEIGHT: f64 = 0.02;

impl From<&BorrowedShare> for BorrowedCost {
    fn from(BorrowedShare { costs, from, share }: &BorrowedShare) -> Self {
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
        let side = |on_cpu: bool| ranking.choice_over(runs, |ranked| ranked.is_cpu() == on_cpu);
        let (Some(gpu), Some(cpu)) = (side(false), side(true)) else { return self };
        let [Some(of_gpu), Some(of_cpu)] = [gpu, cpu].map(|one| one.program(runs)) else {
            return self;
        };
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

/// How the words about a pass begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// They are the answer, for a program too.
    Answer,
    /// They stand behind a program's answer, which is another one.
    AfterProgram,
}

impl Opening {
    const fn words(self, answer: Answer) -> &'static str {
        match (self, answer) {
            (Self::Answer, Answer::Gpu) => "GPU wins",
            (Self::Answer, Answer::Both) => "Both together win",
            (Self::Answer, Answer::Cpu) => "Stay on the CPU",
            (Self::Answer, _) => "A tie",
            (Self::AfterProgram, Answer::Gpu) => "After set-up, each pass is faster on the GPU",
            (Self::AfterProgram, Answer::Both) => "After set-up, each pass is faster on both",
            (Self::AfterProgram, Answer::Cpu) => "After set-up, each pass is faster on the CPU",
            (Self::AfterProgram, _) => "After set-up, each pass is a tie",
        }
    }
}

fn pass_in_words(ranking: &Ranking, answer: Answer, opening: Opening) -> String {
    let (gpu, cpu) = (ranking.best_on_gpu(), ranking.best_on_cpu());
    let beats_cpu = matches!(answer, Answer::Gpu | Answer::Both);
    let said = [
        Some(match (gpu, cpu) {
            (Some(gpu), Some(cpu)) => {
                format!("{}: {}", opening.words(answer), comparison(answer, gpu, cpu))
            }
            (Some(only), None) | (None, Some(only)) => {
                among_programs(ranking, only).unwrap_or_else(|| alone(only))
            }
            (None, None) => "No plan could be predicted: see below.".to_owned(),
        }),
        gpu.filter(|_| answer == Answer::Both).and_then(|both| gpu_alone(ranking, both)),
        tied(ranking, if answer == Answer::Cpu { cpu } else { gpu }, answer),
        cpu.and_then(copies_on_cpu),
        without_pinning(ranking).filter(|_| beats_cpu),
        too_little_known(ranking).filter(|_| !beats_cpu),
        hangs_on_borrowed(ranking),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn comparison(answer: Answer, gpu: &Ranked, cpu: &Ranked) -> String {
    let name = gpu.plan.name();
    match answer {
        Answer::Gpu | Answer::Both => format!(
            "`{name}` takes {}, {} times as fast as the CPU's {}.",
            time(gpu),
            ratio(cpu, gpu),
            cpu.makespan()
        ),
        Answer::Cpu => format!(
            "it takes {}, {} times as fast as the best GPU plan, `{name}` with {}.",
            time(cpu),
            ratio(gpu, cpu),
            gpu.makespan()
        ),
        Answer::Tie | Answer::NothingToCompare => format!(
            "`{name}` takes {} and the CPU {}; the machine's own scatter is larger than the \
             difference.",
            time(gpu),
            time(cpu)
        ),
    }
}

/// What is to be said of programs that a scenario spells out: how the one to choose stands to the
/// others. `None` where there are plans for tasks.
fn among_programs(ranking: &Ranking, chosen: &Ranked) -> Option<String> {
    let is_spelled_out = |ranked: &Ranked| ranked.plan.strategy.is_none();
    if !ranking.plans.iter().all(is_spelled_out) {
        return None;
    }
    let (name, takes) = (chosen.plan.name(), time(chosen));
    let slowest = ranking.plans.last().filter(|one| !std::ptr::eq(*one, chosen));
    Some(match slowest {
        None => format!("`{name}` takes {takes}."),
        Some(slowest) => format!(
            "Of {} programs, `{name}` is the one to choose: it takes {takes}. `{}` takes longest, \
             {}, {} times as long.",
            ranking.plans.len(),
            slowest.plan.name(),
            slowest.makespan(),
            ratio(slowest, chosen)
        ),
    })
}

fn alone(only: &Ranked) -> String {
    format!(
        "No plan on the {} to compare with: the best is `{}`, which takes {}.",
        if only.is_cpu() { "GPU" } else { "CPU" },
        only.plan.name(),
        time(only)
    )
}

/// What GPUs take without the CPU's help.
fn gpu_alone(ranking: &Ranking, both: &Ranked) -> Option<String> {
    let alone = ranking.choice(|ranked| ranked.plan.side() == Side::Gpu)?;
    let times = ratio(alone, both);
    Some(format!("The GPU alone takes {}, {times} times as long.", alone.makespan()))
}

/// That the plan to choose is not the fastest of its side but as fast as can be told.
fn tied(ranking: &Ranking, named: Option<&Ranked>, answer: Answer) -> Option<String> {
    let named = named?;
    let mut side = ranking.plans.iter().filter(|ranked| ranked.is_cpu() == named.is_cpu());
    let fastest = side.next().filter(|fastest| !std::ptr::eq(*fastest, named))?;
    // Behind a sentence about both sides, `it` could be either.
    let who = match answer {
        Answer::Tie => format!("`{}`", named.plan.name()),
        _ => "It".to_owned(),
    };
    Some(format!(
        "{who} ties with `{}` ({}), and is the simplest of all that do.",
        fastest.plan.name(),
        fastest.makespan()
    ))
}

/// That the CPU has to fetch its data, or take it back, where it is at home on the device.
fn copies_on_cpu(cpu: &Ranked) -> Option<String> {
    let timeline = &cpu.forecast.timeline;
    let copies = timeline.busy(Lane::CopyIn) + timeline.busy(Lane::CopyOut);
    (copies > Span::ZERO).then(|| {
        format!(
            "Of the CPU's time, {copies} is copies from and to the device, where data is at home."
        )
    })
}

/// What hangs on costs of another machine. Nothing if the profile has none.
fn hangs_on_borrowed(ranking: &Ranking) -> Option<String> {
    let from: BTreeSet<&str> = ranking.borrowed.iter().map(|one| one.from.as_str()).collect();
    let from = from.into_iter().collect::<Vec<_>>().join(" and ");
    let mut of_weight: Vec<_> =
        ranking.borrowed.iter().filter(|one| one.share >= OF_WEIGHT).collect();
    of_weight.sort_by(|one, other| other.share.total_cmp(&one.share));
    if from.is_empty() || ranking.plans.is_empty() {
        return None;
    }
    let parts =
        of_weight.iter().map(|one| format!("{} ({})", one.costs.name(), percent(one.share)));
    let parts: Vec<String> = parts.collect();
    Some(match parts.split_last() {
        None => format!("What is borrowed from {from} hardly matters."),
        Some((last, before)) => {
            let before = before.join(", ");
            let and = if before.is_empty() { "" } else { " and " };
            format!("Shares of a pass that are borrowed from {from}: {before}{and}{last}.")
        }
    })
}

fn too_little_known(ranking: &Ranking) -> Option<String> {
    match ranking.unknown.iter().filter(|(plan, _)| !plan.program.computes_on_cpu()).count() {
        0 => None,
        1 => Some("The profile knows too little of another plan on the GPU.".to_owned()),
        many => Some(format!("The profile knows too little of {many} other plans on the GPU.")),
    }
}

/// Says who wins without pinning, where the GPU wins only by pinning memory first.
fn without_pinning(ranking: &Ranking) -> Option<String> {
    let memory = |ranked: &Ranked| ranked.plan.host_memory();
    ranking.best_on_gpu().filter(|gpu| memory(gpu) == HostMemory::Pinned)?;
    let is_pageable = |ranked: &Ranked| !ranked.is_cpu() && memory(ranked) == HostMemory::Pageable;
    let (gpu, cpu) = (ranking.choice(is_pageable)?, ranking.fastest_on_cpu()?);
    let who = match gpu.forecast.ties_with(&cpu.forecast) {
        false if gpu.makespan() < cpu.makespan() => return None,
        false => "the CPU wins",
        true => "neither wins",
    };
    let (name, took) = (gpu.plan.name(), gpu.makespan());
    Some(format!("Without pinning, {who}: `{name}` takes {took}."))
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

fn time(ranked: &Ranked) -> String {
    let (low, high) = ranked.forecast.interval();
    with_range(ranked.makespan(), low, high)
}

fn ratio(slow: &Ranked, fast: &Ranked) -> String {
    times(times_as_long(slow.makespan(), fast.makespan()))
}
