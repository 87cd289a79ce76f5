//! The answer: what to choose for one run, and for a whole program.
//!
//! Two questions have an answer each: which plan is faster in one run, in steady state, and which
//! plan to choose for a program of some number of runs, which also pays for set-up and for the
//! first use of the GPU. The program's answer is *the* answer.

use super::{Answer, Comparison};
use crate::program::{ProcessState, StateReason};
use crate::search::{BorrowedCost, Ranked, Ranking};
use serde::{Deserialize, Serialize};

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The process that runs a whole program: a new one pays for the first use of the GPU.
    pub process: ProcessState,
    /// The buffer at home on the device, if it is the reason why the process is taken to be
    /// running.
    pub running_since: Option<String>,
    /// The answer for a whole program of as many runs as the scenario's `runs`, if that is
    /// known; otherwise for one run.
    pub answer: Answer,
    /// The answer for one run in steady state: without set-up and first use.
    pub run_answer: Answer,
    /// What is compared for one run. `null` if no plan can be predicted.
    pub run: Option<Comparison>,
    /// What is compared for a whole program. `null` if the set-up of a plan is not known.
    pub program: Option<Comparison>,
    /// The number of runs from which on the side that is faster in one run is faster in the whole
    /// program. `null` if both answers are the same, or if no number of runs is enough.
    pub from_runs: Option<u64>,
    /// How much of the time of the compared plans is costs that the profile has from another
    /// machine. Empty if it has none.
    #[serde(default)]
    pub borrowed: Vec<BorrowedCost>,
}

impl Verdict {
    /// The answer for a program of `runs`, by what was predicted.
    pub fn of(ranking: &Ranking, runs: u64) -> Self {
        let run = Comparison::of_run(ranking);
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
