//! `hallway explain`: what one plan does.

use super::outputs::check_outputs;
use super::profiles::{CALIBRATIONS, deliver, in_folder, load, newest, write_whole};
use super::progress::Progress;
use super::terminal::width;
use super::{Failure, Outcome, Predicting};
use crate::report::{Calls, explain, folded, prediction};
use crate::scenario::{FamilyName, Workload};
use crate::search::{Candidates, Plan, Ranked, candidates_for, candidates_over};
use clap::{Args, ValueHint};
use std::path::{Path, PathBuf};

/// Plans over more GPUs have to be asked for with a profile of such a machine.
const MOST_GPUS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// Scenario file
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    scenario: PathBuf,
    /// Name of the plan, as listed by `evaluate --all` [default: the chosen plan and, if that is on
    /// the CPU, the fastest one on the GPU]
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Show every call instead of abbreviating repeated ones
    #[arg(long)]
    all: bool,
    /// Also write the plan to this file as a scenario, call by call, to be edited, predicted and
    /// run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    program: Option<PathBuf>,
    /// Profile that decides who wins, or its folder; not needed with --plan,
    /// but for plans by task
    /// [default: the newest in calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Option<PathBuf>,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<Outcome, Failure> {
    let width = width(None, None);
    let workload = load(&arguments.scenario)?;
    // A profile is not always read, but never to be overwritten.
    let profile = match &arguments.profile {
        Some(path) => Some(in_folder(path)),
        None => newest(Path::new(CALIBRATIONS)).ok(),
    };
    let inputs = [&arguments.scenario].into_iter().chain(&profile).chain(&workload.files);
    check_outputs(inputs.map(PathBuf::as_path), arguments.program.as_deref())?;
    let plans = match &arguments.plan {
        Some(name) => {
            let plan = named(&workload, candidates(arguments, &workload, name)?, name)?;
            vec![(String::new(), plan)]
        }
        None => chosen(arguments, &workload, width)?,
    };
    if let (Some(path), Some((_, plan))) = (&arguments.program, plans.first()) {
        write_whole(path, &workload.spelled_out(&plan.program))?;
    }
    let calls = if arguments.all { Calls::All } else { Calls::Shortened };
    let explained = plans.iter().map(|(head, plan)| {
        let text = explain(&workload, plan, calls, width);
        format!("{head}{text}")
    });
    deliver(&explained.collect::<Vec<String>>().join("\n\n"), None)?;
    Ok(Outcome::Done)
}

fn predicting(arguments: &ExplainArguments) -> Predicting {
    Predicting::of(arguments.scenario.clone(), arguments.profile.clone())
}

/// The plans for a machine, if a profile is named or the plan needs one, or else for any machine.
fn candidates(
    arguments: &ExplainArguments,
    workload: &Workload,
    name: &str,
) -> Result<Candidates, Failure> {
    let needs_prices = name.starts_with(&FamilyName::ByTask.to_string());
    if arguments.profile.is_some() || needs_prices {
        return Ok(candidates_for(workload, &predicting(arguments).profile()?.profile));
    }
    Ok(candidates_over(workload, &(2..=MOST_GPUS).collect::<Vec<usize>>()))
}

/// The plan to choose, with a sentence that says so. One on the CPU has little to explain, so the
/// best on the GPU comes behind it.
fn chosen(
    arguments: &ExplainArguments,
    workload: &Workload,
    width: Option<usize>,
) -> Result<Vec<(String, Plan)>, Failure> {
    let predicting = predicting(arguments);
    let found = predicting.profile()?;
    let ranking = predicting.ranking(workload, &found, (&Progress::of(1), 0));
    let Some(best) = ranking.winner() else {
        return Err(Failure::Input(miette::miette!(
            help = "name a plan with --plan; `hallway evaluate` says why none can be predicted",
            "no plan of `{}` can be predicted",
            workload.name
        )));
    };
    let on_gpu = ranking.best_on_gpu().filter(|_| best.is_cpu());
    let shown = |(chosen, of_gpu): (&Ranked, bool)| {
        (folded(&prediction(chosen, of_gpu), width), chosen.plan.clone())
    };
    Ok([(best, false)].into_iter().chain(on_gpu.map(|plan| (plan, true))).map(shown).collect())
}

/// The plan of this name. What comes after a comma may be left out where that is clear.
fn named(workload: &Workload, found: Candidates, name: &str) -> Result<Plan, Failure> {
    if let Some(refusal) = found.refused.iter().find(|one| one.strategy.to_string() == name) {
        return Err(Failure::Input(miette::miette!(
            help = "`hallway evaluate --all` lists the available plans",
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
            help = format!("similar names: `{near}`; `hallway evaluate --all` lists all plans"),
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
