//! `hallway explain`: what one plan does, or what a trace shows.

mod recorded;

use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, load, write_whole};
use super::progress::Progress;
use super::terminal::{NARROWEST, width};
use super::{Failure, Format, Outcome, Predicting, Switches, print};
use crate::report::{Calls, Timed, explain, folded, prediction};
use crate::scenario::{FamilyName, Workload};
use crate::search::{Candidates, Plan, Ranked, candidates_for, candidates_over};
use crate::simulate::simulate;
use crate::trace;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Plans over more GPUs have to be asked for with a profile of such a machine.
const MOST_GPUS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// Scenario file, or a trace: a recording or a profiler's file
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    scenario: PathBuf,
    /// Plan to explain, as `evaluate --all` lists it [default: the chosen plan; if it is on the
    /// CPU, also the fastest plan on the GPU]
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Show every call instead of abbreviating repeated ones
    #[arg(long)]
    all: bool,
    /// Also show the predicted times of each call: when the host makes it, when it returns, and
    /// when the device starts and finishes its work
    #[arg(long)]
    times: bool,
    /// Also write the plan to this file as a scenario that lists every call, ready to edit, predict
    /// and run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    program: Option<PathBuf>,
    /// Profile that the predictions come from, or its folder. With --plan, only --times and
    /// `by-task` plans need one
    /// [default: the newest in calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Option<PathBuf>,
    #[command(flatten)]
    switches: Switches,
    /// Output format; applies only to a trace. `evaluate` writes the times of plans as JSON
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Fit the text into this many columns [default: $COLUMNS, else the width of the terminal;
    /// unlimited if the output is not a terminal]
    #[arg(long, value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(i64::from(NARROWEST)..))]
    width: Option<u16>,
}

pub(super) fn run(arguments: &ExplainArguments) -> Result<Outcome, Failure> {
    let width = width(arguments.width, None);
    if trace::is_trace(&arguments.scenario) {
        return recorded::explain(arguments, width);
    }
    if arguments.format == Format::Json {
        return Err(Failure::refused(
            "--format json applies only to traces, but this is a scenario",
            "`hallway evaluate --format json` writes its plans with their times",
        ));
    }
    let workload = load(&arguments.scenario)?;
    let predicting = predicting(arguments);
    // A profile that is not needed says where the time goes if there is one.
    let found = predicting.profile();
    let found = if arguments.needs_profile() { Some(found?) } else { found.ok() };
    let profile = found.iter().map(|found| &found.path);
    let inputs = [&arguments.scenario].into_iter().chain(profile).chain(&workload.files);
    check_outputs(inputs.map(PathBuf::as_path), arguments.program.as_deref())?;
    let plans = match (&arguments.plan, &found) {
        (None, Some(found)) => chosen(&predicting, &workload, found, width)?,
        (name, found) => {
            let name = name.as_deref().unwrap_or_default();
            let found = found.as_ref().filter(|_| arguments.needs_profile());
            vec![(String::new(), named(&workload, candidates(&workload, found), name)?)]
        }
    };
    if let (Some(path), Some((_, plan))) = (&arguments.program, plans.first()) {
        write_whole(path, &workload.spelled_out(&plan.program))?;
    }
    let explained = plans.iter().map(|(head, plan)| {
        let text = explained(arguments, &workload, plan, found.as_ref(), width)?;
        Ok(format!("{head}{text}"))
    });
    print(&explained.collect::<Result<Vec<String>, Failure>>()?.join("\n\n"))
}

/// As a command predicts it that is told nothing else.
fn predicting(arguments: &ExplainArguments) -> Predicting {
    Predicting {
        scenarios: vec![arguments.scenario.clone()],
        profile: arguments.profile.iter().cloned().collect(),
        gpu_model: None,
        seed: 1,
        draws: crate::simulate::DRAWS as u16,
        switches: arguments.switches.clone(),
    }
}

/// What one plan does, and when, if a machine is known.
fn explained(
    arguments: &ExplainArguments,
    workload: &Workload,
    plan: &Plan,
    found: Option<&LoadedProfile>,
    width: Option<usize>,
) -> Result<String, Failure> {
    let calls = if arguments.all { Calls::All } else { Calls::Shortened };
    let timeline = found.map(|found| simulate(&plan.program, &found.profile));
    let timed = match &timeline {
        Some(Ok(timeline)) if arguments.times => Timed::Listed(timeline),
        Some(Ok(timeline)) => Timed::Divided(timeline),
        Some(Err(error)) if arguments.times => {
            let what = format!("`{}` cannot be predicted: {error}", plan.name());
            return Err(Failure::refused(what, "leave out --times, or name another profile"));
        }
        Some(Err(_)) | None => Timed::No,
    };
    Ok(explain(workload, plan, (calls, timed), width) + &arguments.switches.said())
}

impl ExplainArguments {
    /// Whether a profile is needed: to find the plan to choose, to say when calls are made, or to
    /// make plans by task.
    fn needs_profile(&self) -> bool {
        let by_task = FamilyName::ByTask.to_string();
        let needs_prices = |name: &String| name.starts_with(&by_task);
        let is_told_how = self.profile.is_some() || !self.switches.without.is_empty();
        self.times || is_told_how || self.plan.as_ref().is_none_or(needs_prices)
    }
}

/// The plans for a machine, or else for any machine.
fn candidates(workload: &Workload, found: Option<&LoadedProfile>) -> Candidates {
    match found {
        Some(found) => candidates_for(workload, &found.profile),
        None => candidates_over(workload, &(2..=MOST_GPUS).collect::<Vec<usize>>()),
    }
}

/// The plan to choose, with a sentence that says so. One on the CPU has little to explain, so the
/// best on the GPU comes behind it.
fn chosen(
    predicting: &Predicting,
    workload: &Workload,
    found: &LoadedProfile,
    width: Option<usize>,
) -> Result<Vec<(String, Plan)>, Failure> {
    let progress = Progress::over_stages(1);
    let ranking = predicting.predictor(found, &progress).ranking(workload);
    let Some(best) = ranking.winner() else {
        return Err(Failure::refused(
            format!("no plan of `{}` can be predicted", workload.name),
            "name a plan with --plan; `hallway evaluate` says why none can be predicted",
        ));
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
        return Err(Failure::refused(
            format!("`{}` has no plan `{name}`: {}", workload.name, refusal.reason),
            "`hallway evaluate --all` lists the available plans",
        ));
    }
    let names: Vec<String> = found.plans.iter().map(|plan| plan.name()).collect();
    let beginning = format!("{name}, ");
    let exact = names.iter().position(|known| known == name);
    let mut shortened = (0..names.len()).filter(|&at| names[at].starts_with(&beginning));
    let only = shortened.next().filter(|_| shortened.next().is_none());
    exact.or(only).and_then(|at| found.plans.into_iter().nth(at)).ok_or_else(|| {
        let near = nearest(name, &names).join("`, `");
        Failure::refused(
            format!("`{}` has no plan `{name}`", workload.name),
            format!("similar names: `{near}`; `hallway evaluate --all` lists all plans"),
        )
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
