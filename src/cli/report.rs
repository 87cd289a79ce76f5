//! `hallway report`: one page for a design review.

use super::evaluate::{Questions, WITHIN, check_changes, evaluated};
use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, check_runs, deliver, write_whole};
use super::progress::Progress;
use super::{Failure, Outcome, Predicting, advise};
use crate::report::{Evaluation, Remedies, Review, Subject, review};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{AtSize, by_size};
use crate::what_if::Variation;
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Also show the answer for a hypothetical machine or program; repeatable. Same syntax as
    /// `evaluate --what-if`
    #[arg(long, value_name = "CHANGE")]
    what_if: Vec<Variation>,
    /// Also say what would help each scenario's first program, or a trace, as `advise` does
    #[arg(long)]
    advise: bool,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", default_value = "review.html",
        value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

pub(super) fn run(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    let predicting = &arguments.predicting;
    let found = predicting.profile()?;
    let workloads = predicting.contests()?;
    let runs: Vec<PathBuf> = workloads.iter().map(|workload| found.runs_of(workload)).collect();
    let inputs = predicting.inputs([&found], &workloads).chain(runs.iter().map(PathBuf::as_path));
    check_outputs(inputs, [arguments.output.as_path()])?;
    let runs: Vec<Option<RunSet>> =
        workloads.iter().map(|workload| found.kept_runs(workload)).collect::<Result<_, _>>()?;
    check_changes(&workloads, &found, &arguments.what_if)?;
    // One more for the page.
    let progress = Progress::over_stages(workloads.len() * (1 + arguments.what_if.len()) + 1);
    let predictor = predicting.predictor(&found, &progress);
    let questions = Questions { runs: None, within: WITHIN, what_if: &arguments.what_if };
    let (mut scenarios, mut rankings) = (Vec::new(), Vec::new());
    for (workload, runs) in workloads.iter().zip(&runs) {
        let (assessment, ranking) = evaluated(predictor, workload, &questions)?;
        runs.as_ref().map_or(Ok(()), |runs| check_runs(workload, &ranking, runs))?;
        scenarios.push(assessment);
        rankings.push(ranking);
    }
    progress.begin("writing the page", 1);
    let of = (found.origin(), &found.profile);
    let evaluation = Evaluation::new(of, predicting.draws(), scenarios);
    let sizes = workloads.iter().zip(&evaluation.scenarios).map(|(workload, assessment)| {
        let tried = assessment.threshold().map(|found| found.tried);
        tried.map_or_else(Vec::new, |tried| by_size(workload, &found.profile, tried))
    });
    let sizes: Vec<Vec<AtSize>> = sizes.collect();
    let remedies = arguments.remedies(&workloads, &found)?;
    let subjects = workloads.iter().zip(&rankings).zip(runs.iter().zip(&sizes));
    let subjects = subjects.map(|((workload, ranking), (runs, sizes))| Subject {
        workload,
        ranking,
        runs: runs.as_ref(),
        sizes,
        remedies: remedies.get(&workload.name),
    });
    let subjects = subjects.collect();
    let page = review(&Review { evaluation: &evaluation, profile: &found.profile, subjects });
    drop(progress);
    write_whole(&arguments.output, &page)?;
    deliver(&format!("{}\n", arguments.output.display()), None)?;
    Ok(Outcome::unless_unanswered(evaluation.unanswered(), "; the page lists what is unknown"))
}

impl ReportArguments {
    /// What would help the first program of each scenario, by the name of the part of the scenario
    /// that has it. Scenarios without a program have nothing to say.
    fn remedies(
        &self,
        workloads: &[Workload],
        found: &LoadedProfile,
    ) -> Result<BTreeMap<String, Remedies>, Failure> {
        let mut remedies = BTreeMap::new();
        for path in self.predicting.scenarios.iter().filter(|_| self.advise) {
            let Some(helped) = advise::remedies(path, &self.predicting, found)? else { continue };
            let has_it = |workload: &&Workload| {
                let mut labels = workload.programs.iter().map(|program| &program.label);
                workload.name.starts_with(&helped.report.name)
                    && labels.any(|label| *label == helped.report.program)
            };
            if let Some(part) = workloads.iter().find(has_it) {
                remedies.insert(part.name.clone(), helped);
            }
        }
        Ok(remedies)
    }
}
