//! `hallway report`: one page for a design review.

use super::evaluate::{BREAK_EVEN, assess};
use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, check_runs, deliver, write_whole};
use super::progress::Progress;
use super::{Failure, Outcome, Predicting};
use crate::report::{Evaluation, Origin, Review, Subject, review};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::Ranking;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", default_value = "review.html",
        value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

/// How much longer than the fastest plan the simplest may take that is named beside it.
const WITHIN: f64 = 0.03;

pub(super) fn run(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    let predicting = &arguments.predicting;
    let found = predicting.profile()?;
    let workloads = predicting.workloads()?;
    let runs: Vec<PathBuf> = workloads.iter().map(|workload| found.runs_of(workload)).collect();
    let inputs = predicting.inputs(&found).chain(runs.iter().map(PathBuf::as_path));
    check_outputs(inputs, [arguments.output.as_path()])?;
    let runs: Vec<Option<RunSet>> =
        workloads.iter().map(|workload| kept_runs(&found, workload)).collect::<Result<_, _>>()?;
    // One more for the page.
    let progress = Progress::of(workloads.len() + 1);
    let (mut scenarios, mut rankings) = (Vec::new(), Vec::new());
    for (workload, runs) in workloads.iter().zip(&runs) {
        let ranking = predicting.ranking(workload, &found, (&progress, BREAK_EVEN));
        runs.as_ref().map_or(Ok(()), |runs| check_runs(workload, &ranking, runs))?;
        scenarios.push(assess(
            (workload, workload.runs),
            (&ranking, WITHIN),
            &found,
            progress.tally(),
        ));
        rankings.push(ranking);
    }
    progress.begin("writing the page", 1);
    let evaluation = Evaluation {
        profile: Origin::new(&found.path.display().to_string(), &found.profile),
        seed: predicting.seed,
        draws: predicting.draws.into(),
        trials: found.profile.accuracy.as_ref().map_or(0, |found| found.trials),
        context_ns: found.profile.setup.context.map(|context| context.span()),
        scenarios,
        gate: None,
    };
    let page = page(&evaluation, &found, &workloads, (&rankings, &runs));
    drop(progress);
    write_whole(&arguments.output, &page)?;
    deliver(&format!("{}\n", arguments.output.display()), None)?;
    let unanswered: Vec<&str> = evaluation.unanswered().collect();
    for name in &unanswered {
        eprintln!("{name}: no plan can be predicted; its assumptions tell why");
    }
    Ok(if unanswered.is_empty() { Outcome::Done } else { Outcome::NoAnswer })
}

fn page(
    evaluation: &Evaluation,
    found: &LoadedProfile,
    workloads: &[Workload],
    (rankings, runs): (&[Ranking], &[Option<RunSet>]),
) -> String {
    let subjects = workloads.iter().zip(rankings).zip(runs);
    let subjects = subjects.map(|((workload, ranking), runs)| Subject {
        workload,
        ranking,
        runs: runs.as_ref(),
    });
    review(&Review { evaluation, profile: &found.profile, subjects: subjects.collect() })
}

/// Runs of the scenario, if they were kept beside the profile.
fn kept_runs(found: &LoadedProfile, workload: &Workload) -> Result<Option<RunSet>, Failure> {
    let is_run = found.runs_of(workload).exists();
    is_run.then(|| found.saved_runs(workload)).transpose()
}
