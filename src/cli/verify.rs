//! `hallway verify`: run the plans, score the predictions, keep the runs.

mod set_up;
mod subjects;

use super::calibrate::team;
use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, Predictor, check_runs, deliver, runs_in, write_whole};
use super::progress::Progress;
use super::terminal::{NARROWEST, interrupts, unless_stopped, width};
use super::traces::traced;
use super::{Failure, Outcome, Predicting};
use crate::compare::FailedSetUp;
use crate::execute::Effort;
use crate::gpu::Device;
use crate::profile::Profile;
use crate::report::{Scores, SetUpReport, TracedPlan, Verification, json, trace};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::study::{Event, Job, Predicted, Runner, Shard, Which, digest, score, score_set_up};
use clap::{Args, ValueEnum};
use set_up::Gpu;
use std::collections::BTreeMap;
use std::path::PathBuf;
use subjects::Subjects;

/// Shown below the arguments.
const BELOW: &str = "\
All plans are predicted before the first one runs. A digest of the profile, the plans and the
predictions is printed to standard error. Plans run in random order, once per round. If the chosen
plan was not the fastest one, both then run three more times, alternating. Regret (how much
slower the chosen plan ran than the fastest one) is computed from these extra runs.

A summary of the errors is saved to scores.json next to the profile, unless an earlier `verify`
scored more plans. `evaluate` uses this file to report how many measured times were within their
ranges.

Each run is saved immediately to runs/NAME.partial.json next to the profile, where NAME is the
name of the scenario. When all runs are done, they are saved to runs/NAME.json. With --random,
runs and scenarios are saved to runs/random-SEED/. With --shard, each part has its own subfolder,
such as shard-3-of-16; `hallway merge` combines the parts.

In a narrow terminal, tables drop columns. The table of plans first drops `spread` and `in range`,
then wraps plan names and drops `range`. The summary first drops `plans`, `in range` and `worst`,
then wraps names and drops both winners.";

#[derive(Debug, Args)]
#[command(after_help = BELOW)]
#[command(mut_arg("gpu_model", |model| model.hide(true)))]
#[command(mut_arg("scenarios", |scenarios| scenarios
    .required(false)
    .required_unless_present("random")
    .conflicts_with("random")))]
pub(super) struct VerifyArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Score the runs saved by an earlier `verify` instead of running anything; needs no GPU
    #[arg(long)]
    recorded: bool,
    /// Continue an interrupted `verify`, if there is one. Needs the same profile, scenarios, seed
    /// and draws
    #[arg(long, conflicts_with = "recorded")]
    resume: bool,
    /// Run or score only one part of the plans, such as 3/16. Divides the work among several
    /// processes, each on a machine like the profile's
    #[arg(long, value_name = "PART")]
    shard: Option<Shard>,
    /// Run at most this many plans per scenario: the chosen plan, the fastest on the CPU and on the
    /// GPU, the fastest of each family, and others picked at random with --seed
    #[arg(long, value_name = "PLANS", conflicts_with = "recorded",
        value_parser = clap::value_parser!(u32).range(1..))]
    plans: Option<u32>,
    /// Number of rounds. Each round runs every plan once, so that a temporary disturbance affects
    /// them all
    #[arg(long, value_name = "ROUNDS", default_value_t = 3, conflicts_with = "recorded",
        value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Generate random workloads from --seed until they have this many plans, instead of reading
    /// scenarios. Shows errors by kind of plan, next to those of three simpler predictions. Applies
    /// no pass/fail limits
    #[arg(long, value_name = "PLANS", conflicts_with_all = ["trace", "time_calls"],
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    random: Option<u32>,
    /// Also score set-up: start new processes, each of which opens the GPU, loads the kernels, sets
    /// one plan up and runs it for the first time. 3 for each plan on the GPU, or 1 with --random.
    /// Takes about a second per process. Plans with kernels of your own are left out
    #[arg(long, conflicts_with = "recorded")]
    set_up: bool,
    /// Index of the GPU to run on, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Also time every call of the plan with this name, for plots and traces. The calls of the
    /// chosen plan and of the fastest plan on the GPU are always timed
    #[arg(long, value_name = "PLAN", conflicts_with = "recorded")]
    time_calls: Vec<String>,
    /// Also write the predicted and the measured timeline of one plan per scenario to this file,
    /// for Perfetto or Holistic Trace Analysis
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Name of the plan to trace; also times its calls [default: the fastest GPU plan whose calls
    /// were timed]
    #[arg(long, value_name = "NAME", requires = "trace")]
    plan: Option<String>,
    #[arg(long, value_enum, default_value = "table")]
    format: ScoreFormat,
    /// Fit the tables into this many columns [default: $COLUMNS, else the width of the terminal;
    /// unlimited if the output is not a terminal]
    #[arg(long, value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(i64::from(NARROWEST)..))]
    width: Option<u16>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Format of the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScoreFormat {
    Table,
    /// Only the summary
    Markdown,
    Json,
}

/// How often the plan to choose and the fastest one are run again.
const RERUNS: usize = 3;

pub(super) fn run(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    if let Some(gpu) = arguments.predicting.gpu_model {
        let what = format!("plans cannot run on a hypothetical GPU ({})", gpu.key);
        return Err(Failure::refused(what, "drop --gpu-model"));
    }
    let VerifyArguments { predicting, random, shard, recorded, .. } = arguments;
    let found = predicting.profile()?;
    let subjects = Subjects::new(predicting, (*random, *shard), *recorded, &found)?;
    let folder = subjects.folder.clone();
    let runs_of = |workload: &Workload| runs_in(&folder, workload);
    let workloads = || subjects.all.iter().map(|(workload, _)| workload);
    let paths: Vec<PathBuf> = workloads().map(runs_of).collect();
    let paths = || paths.iter().map(PathBuf::as_path);
    let inputs = arguments.predicting.inputs([&found], workloads());
    let output = arguments.output.as_deref();
    let written = output.into_iter().chain(arguments.trace.as_deref());
    match arguments.recorded {
        true => check_outputs(inputs.chain(paths()), written),
        false => check_outputs(inputs, paths().chain(written)),
    }?;
    if !arguments.recorded {
        subjects.check_names(&arguments.timed())?;
    }
    let gpu = match arguments.recorded || !subjects.need_gpu() {
        true => Gpu::None,
        false => Gpu::new(arguments.gpu, arguments.set_up)?,
    };
    let progress = Progress::over_stages(subjects.all.len());
    let predictor = arguments.predicting.predictor(&found, &progress);
    // Runs tell how wide ranges have to be, so what they are scored on does not know of runs.
    let predictor = Predictor { draws: arguments.predicting.draws(), ..predictor };
    let predict = |(workload, plans)| {
        let ranking = predictor.ranking_of(&workload, plans, 0);
        Predicted { workload, ranking }
    };
    let predicted: Vec<Predicted> = subjects.all.into_iter().map(predict).collect();
    drop(progress);
    let digest = digest(&found.profile, &predicted);
    let mut jobs = Job::all(&predicted, (&found.profile, &digest), arguments.which(), runs_of);
    let (sets, failed) = if arguments.recorded {
        let is_meant = |one: &&Predicted| {
            arguments.shard.is_none() || jobs.iter().any(|job| *job.workload == one.workload)
        };
        let meant = predicted.iter().filter(is_meant).map(|one| &one.workload);
        let sets = meant.map(|workload| found.saved_runs_at(workload, &runs_of(workload)));
        (sets.collect::<Result<_, _>>()?, Vec::new())
    } else {
        eprintln!("Predictions: {digest}");
        for (path, text) in &subjects.texts {
            write_whole(path, text)?;
        }
        if arguments.resume {
            resume(arguments, &mut jobs)?;
        }
        let sources = &subjects.sources;
        let failed = gpu.set_up(random.is_some(), (&found.profile, sources), &mut jobs)?;
        (run_all(arguments, gpu.opened()?.as_ref(), &found.profile, &mut jobs)?, failed)
    };
    let (mut verification, traces) = scored(arguments, &found, &predicted, &digest, &sets)?;
    verification.set_up = set_up_scores(&found.profile, &predicted, &sets, failed);
    let is_whole = arguments.random.is_none() && arguments.shard.is_none();
    if !arguments.recorded && is_whole && arguments.predicting.switches.without.is_empty() {
        keep_scores(&found, &verification)?;
    }
    deliver_all(arguments, &found.profile, &verification, &traces)
}

/// Keeps what ranges held on this machine, for answers from the same profile. Fewer plans than were
/// scored before say less.
fn keep_scores(found: &LoadedProfile, verification: &Verification) -> Result<(), Failure> {
    let before = found.origin().scored.map_or(0, |scored| scored.plans);
    let is_more = |scores: &Scores| scores.plans() >= before;
    let scores = Scores::of(verification).filter(is_more);
    scores.map_or(Ok(()), |scores| write_whole(&found.scores(), &scores.json()))
}

impl VerifyArguments {
    fn which(&self) -> Which {
        let most = self.plans.map(|plans| plans as usize);
        Which { shard: self.shard, most, seed: self.predicting.seed }
    }

    /// The names of the plans whose calls are to be timed.
    fn timed(&self) -> Vec<String> {
        self.time_calls.iter().chain(&self.plan).cloned().collect()
    }
}

/// Takes up what an interrupted process has kept.
fn resume(arguments: &VerifyArguments, jobs: &mut [Job<'_>]) -> Result<(), Failure> {
    let plans: usize = jobs.iter().map(|job| job.programs().count()).sum();
    let all = plans * arguments.rounds as usize;
    let there: usize = jobs.iter_mut().map(Job::resume).sum::<Result<_, _>>()?;
    eprintln!("Resuming: {there} of {all} runs are done");
    Ok(())
}

/// Runs the plans on this machine, and keeps the runs beside the profile.
fn run_all(
    arguments: &VerifyArguments,
    device: Option<&Device>,
    profile: &Profile,
    jobs: &mut [Job<'_>],
) -> Result<Vec<RunSet>, Failure> {
    let threads = profile.machine.cpu_threads;
    let team = team((threads > 0).then_some(threads))?;
    let timed = arguments.timed();
    let is_random = arguments.random.is_some();
    let runner = Runner {
        device,
        team: &team,
        contents: profile.machine.seed,
        order: arguments.predicting.seed,
        rounds: arguments.rounds as usize,
        reruns: if is_random { 0 } else { RERUNS },
        effort: if is_random { Effort::BRIEF } else { Effort::FULL },
        traced: if is_random { None } else { Some(&timed) },
    };
    let is_stopped = interrupts().map_err(Failure::of_machine)?;
    let progress = Progress::over_stages(1);
    progress.begin("running", runner.left(jobs) as u64);
    runner
        .run(jobs, &mut |event| {
            match event {
                Event::Begins | Event::NotSetUp(_) => {}
                Event::Kept => progress.tally().add(1),
                Event::LeftOut { scenario, error } => {
                    progress.note(&format!("{scenario}: skipped: {error}"));
                }
            }
            unless_stopped(&is_stopped)
        })
        .map_err(Failure::from)
}

/// Scores the runs, and finds the timelines that were asked for.
fn scored(
    arguments: &VerifyArguments,
    found: &LoadedProfile,
    predicted: &[Predicted],
    digest: &str,
    sets: &[RunSet],
) -> Result<(Verification, Vec<TracedPlan>), Failure> {
    let mut sets: BTreeMap<String, RunSet> =
        sets.iter().map(|set| (set.scenario.clone(), set.clone())).collect();
    let (mut scores, mut traces) = (Vec::new(), Vec::new());
    for Predicted { workload, ranking } in predicted {
        let name = &workload.name;
        let runs = match sets.remove(name) {
            Some(runs) => runs,
            None if arguments.shard.is_some() => continue,
            None => RunSet::new(name, found.profile.machine.unix_time),
        };
        check_runs(workload, ranking, &runs)?;
        let score = score(workload, ranking, &runs);
        let (predicted, scored) = (ranking.plans.len(), score.cells.len());
        if scored < predicted && arguments.shard.is_none() {
            eprintln!("{name}: {scored} of {predicted} predicted plans were run");
        }
        scores.push(score);
        if arguments.trace.is_some() {
            let traced = traced(ranking, workload, arguments.plan.as_deref(), Some(&runs))?;
            if traced.measured.is_none() {
                eprintln!(
                    "{name}: the calls of `{}` were not timed, so its trace contains only the \
                     prediction",
                    traced.program.label
                );
            }
            traces.push(traced);
        }
    }
    let mut verification = Verification::new(found.origin(), &scores);
    verification.predictions = Some(digest.to_owned());
    for scored in &mut verification.scenarios {
        let one = predicted.iter().find(|one| one.workload.name == scored.scenario);
        scored.stand_ins = one.map(Predicted::stand_ins).unwrap_or_default();
    }
    if arguments.random.is_some() {
        // The figures are shown as they were found, without limits that they must keep.
        verification.checks.clear();
    }
    Ok((verification, traces))
}

/// The score of set-up, if new processes were started.
fn set_up_scores(
    profile: &Profile,
    predicted: &[Predicted],
    sets: &[RunSet],
    failed: Vec<FailedSetUp>,
) -> Option<SetUpReport> {
    let of = |set: &RunSet| {
        let one = predicted.iter().find(|one| one.workload.name == set.scenario)?;
        Some(score_set_up(&one.workload, &one.ranking, set, profile))
    };
    SetUpReport::of(sets.iter().filter_map(of).flatten().collect(), failed)
}

fn deliver_all(
    arguments: &VerifyArguments,
    profile: &Profile,
    verification: &Verification,
    traces: &[TracedPlan],
) -> Result<Outcome, Failure> {
    let output = arguments.output.as_deref();
    let text = match (arguments.format, arguments.random) {
        (ScoreFormat::Table, None) => verification.text_within(width(arguments.width, output)),
        (ScoreFormat::Table, _) => verification.text_by_kind(width(arguments.width, output)),
        (ScoreFormat::Markdown, None) => verification.markdown(),
        (ScoreFormat::Markdown, _) => verification.markdown_by_kind(),
        (ScoreFormat::Json, _) => json(verification),
    };
    if let Some(path) = &arguments.trace {
        write_whole(path, &trace(&profile.machine, traces))?;
    }
    deliver(&text, output)?;
    if let (false, Some(path)) = (verification.passed(), output) {
        eprintln!("some checks failed: see the end of {}", path.display());
    }
    Ok(if verification.passed() { Outcome::Done } else { Outcome::CheckFailed })
}
