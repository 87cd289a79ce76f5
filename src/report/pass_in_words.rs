//! Who wins a pass, in sentences.

use super::answer::Answer;
use super::words::{percent, times, times_as_long, with_range};
use crate::machine::{HostMemory, Side};
use crate::search::{Ranked, Ranking};
use crate::timeline::Lane;
use crate::units::Span;
use std::collections::BTreeSet;

/// Below this share of a pass, borrowed costs decide nothing.
const OF_WEIGHT: f64 = 0.02;

/// How the words about a pass begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
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

/// Who wins a pass, and what is to be known with it.
pub(super) fn pass_in_words(ranking: &Ranking, answer: Answer, opening: Opening) -> String {
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

fn time(ranked: &Ranked) -> String {
    let (low, high) = ranked.forecast.interval();
    with_range(ranked.makespan(), low, high)
}

fn ratio(slow: &Ranked, fast: &Ranked) -> String {
    times(times_as_long(slow.makespan(), fast.makespan()))
}
