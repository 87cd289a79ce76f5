//! One plan set against another, and the answer for one run and for a whole program.

use super::certainty::Certainty;
use super::contender::Contender;
use super::{Answer, rounded, times_as_long};
use crate::families::Strategy;
use crate::machine::Side;
use crate::program::{ProcessState, StateReason};
use crate::scenario::FamilyName;
use crate::search::{BorrowedCost, Ranked, Ranking, is_clearly_less};
use serde::{Deserialize, Serialize};

/// The chosen plan, and the plan that it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Which side is faster, or that there are no two sides to compare.
    pub answer: Answer,
    /// The chosen plan: the simplest of those that tie with the fastest.
    pub chosen: Contender,
    /// The chosen plan on the other side. If all plans use the same side, the fastest plan that
    /// does not tie with the chosen one or, if all plans tie, the fastest of the others. `null` if
    /// there is no other plan.
    pub other: Option<Contender>,
    /// Time of the other plan divided by the time of the chosen plan.
    pub factor: Option<f64>,
    /// Share of the simulated draws in which the chosen plan is the faster one.
    pub faster_in: Option<f64>,
    /// How certain it is that the chosen plan is the faster one. `null` if there is no other plan.
    pub certainty: Option<Certainty>,
}

impl Comparison {
    /// Compares one run of the plans that are meant. `None` without a plan.
    fn of_runs_among(ranking: &Ranking, is_meant: impl Fn(&Ranked) -> bool) -> Option<Self> {
        let on = |on_cpu: bool| {
            let is_on = |one: &Ranked| is_meant(one) && one.is_cpu() == on_cpu;
            Some((ranking.choice(is_on)?, ranking.plans.iter().find(|one| is_on(one))?))
        };
        let (Some((gpu, fast_gpu)), Some((cpu, fast_cpu))) = (on(false), on(true)) else {
            return Self::on_one_side(ranking, &is_meant);
        };
        let gpu_is_faster = fast_gpu.makespan() < fast_cpu.makespan();
        // The plans that are named have to bear the answer out, too.
        let ties = fast_gpu.forecast.ties_with(&fast_cpu.forecast)
            || gpu.forecast.ties_with(&cpu.forecast)
            || gpu_is_faster != (gpu.makespan() < cpu.makespan());
        let answer = between_sides(ties, (gpu, gpu_is_faster));
        let (chosen, other) = match answer {
            Answer::Cpu => (cpu, gpu),
            Answer::Tie if ranking.choice(&is_meant)?.is_cpu() => (cpu, gpu),
            _ => (gpu, cpu),
        };
        Self::between(answer, (chosen, Some(other)), None, ranking)
    }

    /// All plans that are meant use the same side.
    fn on_one_side(ranking: &Ranking, is_meant: &impl Fn(&Ranked) -> bool) -> Option<Self> {
        let chosen = ranking.choice(is_meant)?;
        let others = || {
            let plans = ranking.plans.iter().filter(|one| is_meant(one));
            plans.filter(|one| !std::ptr::eq(*one, chosen))
        };
        // The chosen one may take longer than the fastest. Its rival takes longer still.
        let slower = others().find(|one| {
            chosen.makespan() < one.makespan() && !one.forecast.ties_with(&chosen.forecast)
        });
        let (answer, other) = within_side(slower, others().next());
        Self::between(answer, (chosen, other), None, ranking)
    }

    /// Compares the plan to choose, if it shares the work between the CPU and the GPU, with the one
    /// to choose of those that leave all of it to the GPU.
    pub(super) fn with_gpu_alone(ranking: &Ranking) -> Option<Self> {
        let both = ranking.best_on_gpu().filter(|best| best.plan.side() == Side::Both)?;
        both.plan.strategy?;
        let alone = ranking.choice(|ranked| ranked.plan.side() == Side::Gpu)?;
        let answer = match both.forecast.ties_with(&alone.forecast) {
            true => Answer::Tie,
            false if both.makespan() < alone.makespan() => Answer::Both,
            false => Answer::Gpu,
        };
        Self::between(answer, (both, Some(alone)), None, ranking)
    }

    /// Compares the plans that pin nothing, on both sides, for somebody who cannot pin memory.
    /// `None` if neither side's plan to choose pins, or if every plan does.
    pub(super) fn without_pinning(ranking: &Ranking) -> Option<Self> {
        let pins = |ranked: &Ranked| ranked.plan.program.pins();
        let chosen = [ranking.best_on_gpu(), ranking.best_on_cpu()];
        chosen.into_iter().flatten().find(|one| pins(one))?;
        Self::of_runs_among(ranking, |ranked| !pins(ranked))
    }

    /// Compares the plan to choose on the GPU with each simpler way to use it, in the same kind of
    /// host memory: without its graph, everything copied at once, and everything copied for each
    /// task. Nothing of programs that a scenario spells out.
    pub(super) fn with_simpler_plans(ranking: &Ranking) -> Vec<Self> {
        let best = ranking.best_on_gpu();
        let strategy = best.and_then(|best| best.plan.strategy);
        let Some((best, strategy)) = best.zip(strategy) else { return Vec::new() };
        let call_by_call = Strategy { graph: false, ..strategy };
        let of_family = |name: FamilyName| {
            move |one: Strategy| {
                one.family_name() == name && one.memory == strategy.memory && !one.each_pass
            }
        };
        let find = |is_it: &dyn Fn(Strategy) -> bool| {
            ranking.plans.iter().find(|one| one.plan.strategy.is_some_and(is_it))
        };
        let mut simpler: Vec<&Ranked> = [
            find(&|one| one == call_by_call),
            find(&of_family(FamilyName::Resident)),
            find(&of_family(FamilyName::RoundTrip)),
        ]
        .into_iter()
        .flatten()
        .filter(|one| !std::ptr::eq(*one, best))
        .collect();
        simpler.dedup_by_key(|one| one.plan.strategy);
        let compared = simpler.into_iter().filter_map(|one| {
            let ties = one.forecast.ties_with(&best.forecast);
            let answer = if ties { Answer::Tie } else { Answer::Plan };
            Self::between(answer, (best, Some(one)), None, ranking)
        });
        compared.collect()
    }

    /// Compares two plans by one run, or by a whole program of `runs` if a number is given. `None`
    /// if what comes before its first run is not known.
    fn between(
        answer: Answer,
        (chosen, other): (&Ranked, Option<&Ranked>),
        runs: Option<u64>,
        ranking: &Ranking,
    ) -> Option<Self> {
        let contender = |one: &Ranked| match runs {
            None => Some(Contender::run(one)),
            Some(runs) => Contender::program(one, runs),
        };
        let mut compared = Self {
            answer,
            chosen: contender(chosen)?,
            other: other.and_then(contender),
            factor: None,
            faster_in: other.map(|other| rounded(chosen.is_faster_in(other, runs))),
            certainty: None,
        };
        if let (Some(ranked), Some(other)) = (other, &compared.other) {
            let factor = times_as_long(other.time_ns, compared.chosen.time_ns);
            let (both, plans) = ([&compared.chosen, other], ([chosen, ranked], runs));
            compared.certainty = Some(Certainty::of(answer, both, plans, ranking.link_off));
            compared.factor = Some(rounded(factor));
        }
        Some(compared)
    }

    /// Compares a whole program of `runs`. `None` if the set-up of a plan is not known, for that
    /// plan might win.
    pub(super) fn of_program(ranking: &Ranking, runs: u64) -> Option<Self> {
        let has = |on_cpu: bool| ranking.plans.iter().any(|one| one.is_cpu() == on_cpu);
        let (answer, chosen, other) = if has(true) && has(false) {
            program_between_sides(ranking, runs)?
        } else {
            program_on_one_side(ranking, runs)?
        };
        Self::between(answer, (chosen, other), Some(runs), ranking)
    }

    /// The contender on a side: the CPU alone, or a plan that uses the GPU.
    pub fn on(&self, on_cpu: bool) -> Option<&Contender> {
        let both = [Some(&self.chosen), self.other.as_ref()];
        both.into_iter().flatten().find(|one| (one.side == Side::Cpu) == on_cpu)
    }

    /// The plan to choose, and the one that it is compared with.
    pub fn contenders(&self) -> impl Iterator<Item = &Contender> {
        std::iter::once(&self.chosen).chain(&self.other)
    }

    /// Whether the CPU alone is compared with plans that use the GPU.
    pub fn is_between_sides(&self) -> bool {
        self.on(true).is_some() && self.on(false).is_some()
    }
}

/// The answer for a whole program, the plan to choose, and the one to choose on the other side.
fn program_between_sides(
    ranking: &Ranking,
    runs: u64,
) -> Option<(Answer, &Ranked, Option<&Ranked>)> {
    let side = |on_cpu: bool| ranking.choice_over(runs, |one| one.is_cpu() == on_cpu);
    let (gpu, cpu) = (side(false)?, side(true)?);
    let (of_gpu, of_cpu) = (gpu.program(runs)?, cpu.program(runs)?);
    let gpu_is_faster = of_gpu < of_cpu;
    let ties =
        ranking.sides_tie_over(runs)? || !is_clearly_less(of_gpu.min(of_cpu), of_gpu.max(of_cpu));
    let answer = between_sides(ties, (gpu, gpu_is_faster));
    // The simpler plan is the one to choose if the sides tie.
    let choose_gpu = match answer {
        Answer::Tie => !ranking.winner_over(runs)?.is_cpu(),
        _ => gpu_is_faster,
    };
    Some(if choose_gpu { (answer, gpu, Some(cpu)) } else { (answer, cpu, Some(gpu)) })
}

/// The answer for a whole program if all plans use the same side, the plan to choose, and its
/// rival.
fn program_on_one_side(ranking: &Ranking, runs: u64) -> Option<(Answer, &Ranked, Option<&Ranked>)> {
    let chosen = ranking.winner_over(runs)?;
    let mut others: Vec<&Ranked> =
        ranking.plans.iter().filter(|one| !std::ptr::eq(*one, chosen)).collect();
    others.sort_by_key(|one| one.program(runs));
    let time = |one: &Ranked| one.program(runs).unwrap_or_default();
    let is_slower = |one: &&Ranked| {
        is_clearly_less(time(chosen), time(one)) && !chosen.program_ties_with(one, runs)
    };
    let slower = others.iter().copied().find(is_slower);
    let (answer, other) = within_side(slower, others.first().copied());
    Some((answer, chosen, other))
}

/// The answer if there are plans on the CPU and, the best of them `gpu`, on the GPU.
fn between_sides(ties: bool, (gpu, gpu_is_faster): (&Ranked, bool)) -> Answer {
    match (ties, gpu_is_faster) {
        (true, _) => Answer::Tie,
        (false, true) if gpu.plan.side() == Side::Both => Answer::Both,
        (false, true) => Answer::Gpu,
        (false, false) => Answer::Cpu,
    }
}

/// The answer if all plans use the same side, and the rival of the plan to choose: the fastest that
/// is `slower`, or else the `first` of the others.
const fn within_side<'r>(
    slower: Option<&'r Ranked>,
    first: Option<&'r Ranked>,
) -> (Answer, Option<&'r Ranked>) {
    match (slower, first) {
        (Some(_), _) => (Answer::Plan, slower),
        (None, Some(_)) => (Answer::Tie, first),
        (None, None) => (Answer::NothingToCompare, None),
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// State of the process that runs the whole program. A new process pays for the first use of
    /// the GPU.
    pub process: ProcessState,
    /// The buffer whose home is the device, if this is the reason why the process is assumed to be
    /// running.
    pub running_since: Option<String>,
    /// The answer for a whole program of `runs` runs, if it is known; otherwise for one run.
    pub answer: Answer,
    /// The answer for one run in steady state, without set-up and first use.
    pub run_answer: Answer,
    /// The comparison for one run. `null` if no plan can be predicted.
    pub run: Option<Comparison>,
    /// The comparison for a whole program. `null` if the set-up of a plan is unknown.
    pub program: Option<Comparison>,
    /// The smallest number of runs with which the side that is faster in one run is also faster in
    /// the whole program. `null` if both answers are the same, or if no number of runs is enough.
    pub from_runs: Option<u64>,
    /// How much of the compared plans' times comes from costs that the profile borrowed from other
    /// machines. Empty if it borrowed none.
    #[serde(default)]
    pub borrowed: Vec<BorrowedCost>,
}

impl Verdict {
    /// The answer for a program of `runs`, by what was predicted.
    pub fn of(ranking: &Ranking, runs: u64) -> Self {
        let run = Comparison::of_runs_among(ranking, |_| true);
        let program = Comparison::of_program(ranking, runs);
        let run_answer = run.as_ref().map_or(Answer::NothingToCompare, |one| one.answer);
        let answer = program.as_ref().map_or(run_answer, |one| one.answer);
        // Middle times may cross before scatter leaves no doubt: a tie has no winner yet.
        let from_runs = from_runs(ranking, run_answer).filter(|&from| from > runs);
        Self {
            process: ranking.process.state,
            running_since: match &ranking.process.reason {
                StateReason::AtHomeOnDevice(buffer) => Some(buffer.clone()),
                StateReason::Default | StateReason::Stated => None,
            },
            answer,
            run_answer,
            from_runs: from_runs.filter(|_| answer != run_answer),
            borrowed: ranking.borrowed.clone(),
            run,
            program,
        }
    }

    /// The comparison that the answer is told by: of one run, unless all runs have another answer.
    pub fn deciding(&self) -> Option<&Comparison> {
        let program = self.program.as_ref().filter(|_| self.answer != self.run_answer);
        program.or(self.run.as_ref())
    }

    /// The plan to choose for one run on a side: the CPU alone, or the GPU.
    pub fn plan_on(&self, on_cpu: bool) -> Option<&str> {
        Some(self.run.as_ref()?.on(on_cpu)?.plan.as_str())
    }
}

/// The smallest number of runs with which the side that wins a run wins the program.
fn from_runs(ranking: &Ranking, winner: Answer) -> Option<u64> {
    let on_cpu = match winner {
        Answer::Cpu => true,
        Answer::Gpu | Answer::Both => false,
        Answer::Plan | Answer::Tie | Answer::NothingToCompare => return None,
    };
    let of_side = |wanted: bool| ranking.plans.iter().filter(move |one| one.is_cpu() == wanted);
    let known =
        |one: &Ranked| Some((one.before_first_pass()?.nanos_f64(), one.makespan().nanos_f64()));
    // A plan has to beat each plan of the other side, and one that does is enough.
    let beats = |one: &Ranked, other: &Ranked| {
        let ((before, run), (before_other, run_other)) = (known(one)?, known(other)?);
        let gain = run_other - run;
        (gain > 0.0).then(|| ((before - before_other) / gain).floor().max(0.0) as u64 + 1)
    };
    let beats_all = |one: &Ranked| {
        let needed = of_side(!on_cpu).map(|other| beats(one, other));
        needed.collect::<Option<Vec<u64>>>()?.into_iter().max()
    };
    of_side(on_cpu).filter_map(beats_all).min()
}
