//! The answer, in one plain sentence.

use super::words::{plural, times, with_range};
use crate::scenario::HostMemory;
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a workload should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The GPU is faster.
    Gpu,
    /// The CPU is faster.
    Cpu,
    /// The machine's scatter does not settle which is faster.
    Tie,
    /// There are plans on one side only, or none.
    NothingToCompare,
}

/// The answer and how it is said. Keys are stable; the wording is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Where the workload should run.
    pub answer: Answer,
    /// The answer in words. The wording may change from version to version.
    pub sentence: String,
}

/// A program's time that differs by less than this share decides nothing.
pub(super) const CLEARLY: f64 = 0.01;

impl Verdict {
    /// Sets the best plan of one side against the best of the other, a pass of each.
    pub fn of(ranking: &Ranking) -> Self {
        let (answer, sentence) = match (ranking.best_on_gpu(), ranking.best_on_cpu()) {
            (Some(gpu), Some(cpu)) if gpu.forecast.ties_with(&cpu.forecast) => (
                Answer::Tie,
                format!(
                    "A tie: `{}` takes {} and the CPU {}; the machine's own scatter is larger \
                     than the difference.",
                    gpu.plan.strategy,
                    time(gpu),
                    time(cpu)
                ),
            ),
            (Some(gpu), Some(cpu)) if gpu.makespan() < cpu.makespan() => (
                Answer::Gpu,
                format!(
                    "GPU wins: `{}` takes {}, {} times as fast as the CPU's {}.",
                    gpu.plan.strategy,
                    time(gpu),
                    ratio(cpu, gpu),
                    cpu.makespan()
                ),
            ),
            (Some(gpu), Some(cpu)) => (
                Answer::Cpu,
                format!(
                    "Stay on the CPU: it takes {}, {} times as fast as the best GPU plan, `{}` \
                     with {}.",
                    time(cpu),
                    ratio(gpu, cpu),
                    gpu.plan.strategy,
                    gpu.makespan()
                ),
            ),
            (Some(only), None) | (None, Some(only)) => (
                Answer::NothingToCompare,
                format!(
                    "No plan on the {} to compare with: the fastest is `{}`, which takes {}.",
                    if only.is_cpu() { "GPU" } else { "CPU" },
                    only.plan.strategy,
                    time(only)
                ),
            ),
            (None, None) => {
                (Answer::NothingToCompare, "No plan could be predicted: see below.".to_owned())
            }
        };
        let unknown = ranking.unknown.iter().filter(|(plan, _)| plan.needs_device()).count();
        let rest = match (answer, unknown) {
            // It won without them.
            (Answer::Gpu, _) | (_, 0) => String::new(),
            (_, 1) => " Of another plan on the GPU the profile knows too little.".to_owned(),
            _ => format!(" Of {unknown} other plans on the GPU the profile knows too little."),
        };
        let as_it_is = if answer == Answer::Gpu { without_pinning(ranking) } else { None };
        Self { answer, sentence: sentence + &as_it_is.unwrap_or_default() + &rest }
    }

    /// Says so if the other side wins a program of so many passes, which has set-up besides.
    #[must_use]
    pub fn over(mut self, ranking: &Ranking, runs: u64) -> Self {
        let [Some(pass), Some(program)] = [ranking.winner(), ranking.winner_over(runs)] else {
            return self;
        };
        // What wins a pass may not be what its side would make the program of.
        let others = ranking.plans.iter().filter(|other| other.is_cpu() == pass.is_cpu());
        let Some(other) = others.min_by_key(|other| other.program(runs)) else { return self };
        let times = [program, pass, other].map(|one| one.program(runs));
        let [Some(least), Some(of_pass), Some(of_other)] = times else { return self };
        let beats = |time: Span| least.nanos_f64() < (1.0 - CLEARLY) * time.nanos_f64();
        if pass.is_cpu() != program.is_cpu() && beats(of_pass) {
            let said = |one: &Ranked, time| match one.is_cpu() {
                true => format!("{time} on the CPU"),
                false => format!("{time} with `{}`", one.plan.strategy),
            };
            let who = match (beats(of_other), program.is_cpu()) {
                (false, _) => "neither wins",
                (true, true) => "the CPU wins",
                (true, false) => "the GPU wins",
            };
            self.sentence += &format!(
                " But with set-up and {}, {who}: {} against {}.",
                plural(runs, "run"),
                said(program, least),
                said(other, of_other)
            );
        }
        self
    }
}

/// Says who wins without pinning, where the GPU wins only by pinning memory first.
fn without_pinning(ranking: &Ranking) -> Option<String> {
    let memory = |ranked: &Ranked| ranked.plan.strategy.memory;
    ranking.best_on_gpu().filter(|gpu| memory(gpu) == HostMemory::Pinned)?;
    let mut others = ranking.plans.iter().filter(|ranked| !ranked.is_cpu());
    let (gpu, cpu) =
        (others.find(|ranked| memory(ranked) == HostMemory::Pageable)?, ranking.best_on_cpu()?);
    let wins = gpu.makespan() < cpu.makespan();
    let who = match gpu.forecast.ties_with(&cpu.forecast) {
        false if wins => return None,
        false => "the CPU wins",
        true => "neither wins",
    };
    let (strategy, took) = (&gpu.plan.strategy, gpu.makespan());
    Some(format!(" Without pinning, {who}: `{strategy}` takes {took}."))
}

fn time(ranked: &Ranked) -> String {
    let (low, high) = ranked.forecast.interval();
    with_range(ranked.makespan(), low, high)
}

fn ratio(slow: &Ranked, fast: &Ranked) -> String {
    times(slow.makespan().nanos_f64() / fast.makespan().nanos_f64())
}
