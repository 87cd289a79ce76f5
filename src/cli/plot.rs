//! `hallway plot`: draw pictures for design reviews.

use super::outputs::check_outputs;
use super::profiles::{check_runs, deliver, write_whole};
use super::progress::Progress;
use super::sweep::{Asked, sweep};
use super::{Failure, Outcome, Predicting};
use crate::compare::Score;
use crate::report::{
    Pictured, Sweeping, bandwidth, chunks, drawn_sweep, gantt, plans, predicted_against_measured,
};
use crate::samples::Samples;
use crate::scenario::Workload;
use crate::study::score;
use clap::Args;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct PlotArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Also plot how the answer changes as one number varies. Same syntax as `evaluate --sweep`
    #[arg(long, value_name = "KEY=VALUES")]
    sweep: Option<Asked>,
    /// Folder to write the plots to
    #[arg(long, value_name = "FOLDER", default_value = "plots")]
    output: PathBuf,
}

/// File name of the picture of predictions against runs.
const ERRORS: &str = "predicted-against-measured.svg";
const BANDWIDTH: &str = "bandwidth.svg";

/// What the name of a scenario's picture ends with: of a plan's timeline, of plans side by side,
/// and of plans over their numbers of chunks.
const TIMELINE: &str = "gantt";
const PLANS: &str = "plans";
const CHUNKS: &str = "chunks";

/// File name of a picture of a scenario.
fn picture_of(scenario: &str, what: &str) -> String {
    format!("{scenario}-{what}.svg")
}

/// File name of the picture of a sweep.
fn sweep_of(one: &Sweeping) -> String {
    picture_of(&one.scenario, &format!("sweep-{}", one.key))
}

pub(super) fn run(arguments: &PlotArguments) -> Result<Outcome, Failure> {
    let found = arguments.predicting.profile()?;
    let workloads = arguments.predicting.workloads()?;
    let samples = found.samples();
    let runs: Vec<PathBuf> = workloads.iter().map(|workload| found.runs_of(workload)).collect();
    let inputs = runs.iter().chain([&samples]).map(PathBuf::as_path);
    let of_scenario =
        |one: &Workload| [TIMELINE, PLANS, CHUNKS].map(|what| picture_of(&one.name, what));
    let made = workloads.iter().flat_map(of_scenario);
    let made = made.chain([ERRORS.to_owned(), BANDWIDTH.to_owned()]);
    let made: Vec<PathBuf> = made.map(|name| arguments.output.join(name)).collect();
    let inputs = arguments.predicting.inputs([&found], &workloads).chain(inputs);
    let inputs: Vec<&Path> = inputs.collect();
    check_outputs(inputs.iter().copied(), made.iter().map(PathBuf::as_path))?;
    let swept = match &arguments.sweep {
        Some(asked) => sweep(&arguments.predicting, &found, asked, None)?.sweeps,
        None => Vec::new(),
    };
    let of_sweeps = swept.iter().map(sweep_of);
    let of_sweeps: Vec<PathBuf> = of_sweeps.map(|name| arguments.output.join(name)).collect();
    check_outputs(inputs, of_sweeps.iter().map(PathBuf::as_path))?;
    let origin = found.origin();
    // One more for the samples and the drawing.
    let progress = Progress::over_stages(workloads.len() + 1);
    let predictor = arguments.predicting.predictor(&found, &progress);
    // Scenarios with their predictions and, where there are any, their runs.
    let subject = |workload| {
        let runs = found.kept_runs(&workload)?;
        let ranking = predictor.ranking(&workload);
        runs.as_ref().map_or(Ok(()), |runs| check_runs(&workload, &ranking, runs))?;
        Ok((workload, ranking, runs))
    };
    let subjects = workloads.into_iter().map(subject).collect::<Result<Vec<_>, Failure>>()?;
    progress.begin("drawing", 1);
    let samples = samples.exists().then(|| Samples::load(&samples)).transpose()?;
    // By file name. Nothing is written before every input was read.
    let (mut pictures, mut scores, mut is_complete) = (BTreeMap::new(), Vec::new(), true);
    for (workload, ranking, runs) in &subjects {
        let name = &workload.name;
        scores.extend(runs.as_ref().map(|runs| score(workload, ranking, runs)));
        let of = Pictured { workload, ranking, runs: runs.as_ref(), origin: &origin };
        // The plan on the GPU that the verdict names: one on the CPU is a single bar.
        let Some(drawn) = ranking.best_on_gpu().or(ranking.winner()) else {
            progress
                .note(&format!("{name}: no plan could be predicted; `hallway evaluate` says why"));
            is_complete = false;
            continue;
        };
        pictures.insert(picture_of(name, TIMELINE), gantt(&of, drawn));
        pictures.insert(picture_of(name, PLANS), plans(&of));
        pictures.extend(chunks(&of).map(|picture| (picture_of(name, CHUNKS), picture)));
    }
    for one in &swept {
        pictures.insert(sweep_of(one), drawn_sweep(one, &origin));
    }
    scores.retain(|score: &Score| !score.cells.is_empty());
    if !scores.is_empty() {
        pictures.insert(ERRORS.to_owned(), predicted_against_measured(&scores));
    }
    if let Some(samples) = &samples {
        pictures.insert(BANDWIDTH.to_owned(), bandwidth(&found.profile, samples));
    }
    drop(progress);
    let mut written = String::new();
    for (name, picture) in &pictures {
        let path = arguments.output.join(name);
        write_whole(&path, picture)?;
        let _ = writeln!(written, "{}", path.display());
    }
    deliver(&written, None)?;
    Ok(if is_complete { Outcome::Done } else { Outcome::NoAnswer })
}
