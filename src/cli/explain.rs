//! `hallway explain`: what one plan does.

use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, deliver, load, write_whole};
use super::progress::Progress;
use super::terminal::width;
use super::{Failure, Outcome, Predicting};
use crate::report::{Calls, Timed, explain, folded, prediction};
use crate::scenario::{FamilyName, Workload};
use crate::search::{Candidates, Plan, candidates_for, candidates_over};
use crate::simulate::simulate;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Plans over more GPUs have to be asked for with a profile of such a machine.
const MOST_GPUS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// Scenario file
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    scenario: PathBuf,
    /// Name of the plan, as in the table of `evaluate --all` [default: the predicted winner]
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Show every call, however often the same ones come again
    #[arg(long)]
    all: bool,
    /// Also show for each call when it begins and returns, and when the device starts on it and is
    /// done, as predicted
    #[arg(long)]
    times: bool,
    /// Also write a scenario to this file that spells the plan out, call by call: it can be
    /// changed, predicted and run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    program: Option<PathBuf>,
    /// Profile that decides who wins and where the time goes, or its folder; with --plan, only
    /// --times and plans by task need one
    /// [default: the newest in calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Option<PathBuf>,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<Outcome, Failure> {
    let inputs = [Some(&arguments.scenario), arguments.profile.as_ref()].into_iter().flatten();
    check_outputs(inputs.map(PathBuf::as_path), arguments.program.as_deref())?;
    let width = width(None, None);
    let workload = load(&arguments.scenario)?;
    let predicting = predicting(arguments);
    let found = match arguments.needs_profile() {
        true => Some(predicting.profile()?),
        false => predicting.profile().ok(),
    };
    let (first, plan) = match (&arguments.plan, &found) {
        (None, Some(found)) => winner(&predicting, (&workload, found), width)?,
        (name, found) => {
            let name = name.as_deref().unwrap_or_default();
            let found = found.as_ref().filter(|_| arguments.needs_profile());
            (String::new(), named(&workload, candidates(&workload, found), name)?)
        }
    };
    if let Some(path) = &arguments.program {
        write_whole(path, &workload.spelled_out(&plan.program))?;
    }
    let calls = if arguments.all { Calls::All } else { Calls::Shortened };
    let timeline = found.map(|found| simulate(&plan.program, &found.profile));
    let timed = match &timeline {
        Some(Ok(timeline)) if arguments.times => Timed::Listed(timeline),
        Some(Ok(timeline)) => Timed::Divided(timeline),
        Some(Err(error)) if arguments.times => {
            return Err(Failure::Input(miette::miette!(
                help = "leave out --times, or name another profile",
                "`{}` cannot be predicted: {error}",
                plan.name()
            )));
        }
        Some(Err(_)) | None => Timed::No,
    };
    deliver(&(first + &explain(&workload, &plan, (calls, timed), width)), None)?;
    Ok(Outcome::Done)
}

impl ExplainArguments {
    /// Whether a profile has to be there: to find the winner, to say when calls are made, or to
    /// make plans by task. Else one that is found says where the time goes.
    fn needs_profile(&self) -> bool {
        let by_task = FamilyName::ByTask.to_string();
        let needs_prices = |name: &String| name.starts_with(&by_task);
        self.times || self.profile.is_some() || self.plan.as_ref().is_none_or(needs_prices)
    }
}

fn predicting(arguments: &ExplainArguments) -> Predicting {
    Predicting::of(arguments.scenario.clone(), arguments.profile.clone())
}

/// The plans for a machine, or else for any machine.
fn candidates(workload: &Workload, found: Option<&LoadedProfile>) -> Candidates {
    match found {
        Some(found) => candidates_for(workload, &found.profile),
        None => candidates_over(workload, &(2..=MOST_GPUS).collect::<Vec<usize>>()),
    }
}

/// The plan that is predicted to be the fastest, and a sentence that says so.
fn winner(
    predicting: &Predicting,
    (workload, found): (&Workload, &LoadedProfile),
    width: Option<usize>,
) -> Result<(String, Plan), Failure> {
    let ranking = predicting.ranking(workload, found, (&Progress::of(1), 0));
    let Some(best) = ranking.winner() else {
        return Err(Failure::Input(miette::miette!(
            help = "name a plan with --plan; `hallway evaluate` tells why none is predicted",
            "no plan of `{}` can be predicted",
            workload.name
        )));
    };
    Ok((folded(&prediction(best), width), best.plan.clone()))
}

/// The plan of this name. What comes after a comma may be left out where that is clear.
fn named(workload: &Workload, found: Candidates, name: &str) -> Result<Plan, Failure> {
    if let Some(refusal) = found.refused.iter().find(|one| one.strategy.to_string() == name) {
        return Err(Failure::Input(miette::miette!(
            help = "`hallway evaluate --all` lists the plans that there are",
            "`{}` has no plan `{name}`: {}",
            workload.name,
            refusal.reason
        )));
    }
    let names: Vec<String> = found.plans.iter().map(|plan| plan.name()).collect();
    let beginning = format!("{name}, ");
    let exact = names.iter().position(|known| known == name);
    let mut shortened = (0..names.len()).filter(|&at| names[at].starts_with(&beginning));
    let only = shortened.next().filter(|_| shortened.next().is_none());
    exact.or(only).and_then(|at| found.plans.into_iter().nth(at)).ok_or_else(|| {
        let near = nearest(name, &names).join("`, `");
        Failure::Input(miette::miette!(
            help = format!("the nearest are `{near}`; `hallway evaluate --all` lists all of them"),
            "`{}` has no plan `{name}`",
            workload.name
        ))
    })
}

/// The few known names that look most like slips of the one given.
fn nearest<'n>(name: &str, known: &'n [String]) -> Vec<&'n str> {
    const SHOWN: usize = 3;
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.sort_by_key(|other| strsim::levenshtein(name, other));
    known.truncate(SHOWN);
    known
}
