//! `hallway plot`: draw pictures for design reviews.

use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, check_runs, deliver, write_whole};
use super::progress::Progress;
use super::{Failure, Outcome, Predicting};
use crate::report::{Gantt, Measured, bandwidth, gantt, predicted_against_measured};
use crate::runs::RunSet;
use crate::samples::Samples;
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking};
use crate::study::score;
use clap::Args;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct PlotArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Folder to write the pictures to
    #[arg(long, value_name = "FOLDER", default_value = "plots")]
    output: PathBuf,
}

/// File name of the picture of predictions against runs.
const ERRORS: &str = "predicted-against-measured.svg";
const BANDWIDTH: &str = "bandwidth.svg";

/// File name of the picture of a plan's timeline.
fn timeline_of(workload: &Workload) -> String {
    format!("{}-gantt.svg", workload.name)
}

/// A scenario with its predictions and, where there are any, its runs.
struct Subject {
    workload: Workload,
    ranking: Ranking,
    runs: Option<RunSet>,
}

pub(super) fn run(arguments: &PlotArguments) -> Result<Outcome, Failure> {
    let found = arguments.predicting.profile()?;
    let workloads = arguments.predicting.workloads()?;
    let samples = found.samples();
    let runs: Vec<PathBuf> = workloads.iter().map(|workload| found.runs_of(workload)).collect();
    let inputs = runs.iter().chain([&samples]).map(PathBuf::as_path);
    let timelines = workloads.iter().map(timeline_of);
    let made = timelines.chain([ERRORS.to_owned(), BANDWIDTH.to_owned()]);
    let made: Vec<PathBuf> = made.map(|name| arguments.output.join(name)).collect();
    let inputs = arguments.predicting.inputs(&found).chain(inputs);
    check_outputs(inputs, made.iter().map(PathBuf::as_path))?;
    // One more for the samples and the drawing.
    let progress = Progress::of(workloads.len() + 1);
    let subjects = subjects(workloads, &arguments.predicting, &found, &progress)?;
    progress.begin("drawing", 1);
    let samples = samples.exists().then(|| Samples::load(&samples)).transpose()?;
    // By file name. Nothing is written before every input was read.
    let mut pictures = BTreeMap::new();
    for subject in &subjects {
        let Some(picture) = draw(subject) else {
            let name = &subject.workload.name;
            progress
                .note(&format!("{name}: no plan can be predicted; `hallway evaluate` says why"));
            continue;
        };
        pictures.insert(timeline_of(&subject.workload), picture);
    }
    let with_runs = subjects.iter().filter_map(|subject| {
        Some(score(&subject.workload, &subject.ranking, subject.runs.as_ref()?))
    });
    let scores: Vec<_> = with_runs.filter(|score| !score.cells.is_empty()).collect();
    if !scores.is_empty() {
        let picture = predicted_against_measured(&scores);
        pictures.insert(ERRORS.to_owned(), picture);
    }
    if let Some(samples) = &samples {
        pictures.insert(BANDWIDTH.to_owned(), bandwidth(&found.profile, samples));
    }
    drop(progress);
    let is_drawn = |subject: &Subject| pictures.contains_key(&timeline_of(&subject.workload));
    let is_complete = subjects.iter().all(is_drawn);
    let mut written = String::new();
    for (name, picture) in &pictures {
        let path = arguments.output.join(name);
        write_whole(&path, picture)?;
        let _ = writeln!(written, "{}", path.display());
    }
    deliver(&written, None)?;
    Ok(if is_complete { Outcome::Done } else { Outcome::NoAnswer })
}

fn subjects(
    workloads: Vec<Workload>,
    predicting: &Predicting,
    found: &LoadedProfile,
    progress: &Progress,
) -> Result<Vec<Subject>, Failure> {
    let subject = |workload: Workload| {
        let is_run = found.runs_of(&workload).exists();
        let runs = is_run.then(|| found.saved_runs(&workload)).transpose()?;
        let ranking = predicting.ranking(&workload, found, (progress, 0));
        runs.as_ref().map_or(Ok(()), |runs| check_runs(&workload, &ranking, runs))?;
        Ok(Subject { workload, ranking, runs })
    };
    workloads.into_iter().map(subject).collect()
}

/// Draws the best plan on the GPU: a plan on the CPU is a single bar. Among plans that tie with
/// it, one whose calls were timed is preferred, as it can be drawn beside its measurement.
fn draw(subject: &Subject) -> Option<String> {
    let Subject { workload, ranking, runs } = subject;
    // Where there are runs, a plan that was found later is left to others.
    let was_due = |ranked: &Ranked| {
        runs.as_ref().is_none_or(|runs| runs.run_of(&ranked.plan.identity()).is_some())
    };
    let best = ranking.choice(|ranked| !ranked.is_cpu() && was_due(ranked));
    let best = best.or(ranking.winner())?;
    let (_, high) = best.forecast.interval();
    let traced = |ranked: &&Ranked| {
        let is_as_good = !ranked.is_cpu() && ranked.forecast.interval().0 <= high;
        is_as_good && runs.as_ref().is_some_and(|r| r.trace_of(&ranked.plan.identity()).is_some())
    };
    let drawn = ranking.plans.iter().find(traced).unwrap_or(best);
    let identity = drawn.plan.identity();
    let measured = runs.as_ref().and_then(|runs| {
        let timeline = &runs.trace_of(&identity)?.timeline;
        Some(Measured { timeline, run: runs.run_of(&identity)? })
    });
    Some(gantt(&Gantt { scenario: &workload.name, runs: workload.runs, ranking, drawn, measured }))
}
