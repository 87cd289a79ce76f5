//! `hallway evaluate`: predict and rank every plan.

mod gate;
mod machines;
pub(super) mod what_if;

use super::outputs::check_outputs;
use super::profiles::{Predictor, check_runs_count, deliver, write_whole};
use super::progress::Progress;
use super::sweep::{AnswerFormat, Asked, show, sweep};
use super::terminal::{NARROWEST, USUAL_WIDTH, width};
use super::traces::traced;
use super::{Failure, Outcome, Predicting};
use crate::findings::{Assessment, InBrief};
use crate::kernels::Kernel;
use crate::report::{Evaluation, Rows, json, trace};
use crate::scenario::Workload;
use crate::search::{
    Ranking, break_even_counted, candidates_for, deciding_times, shortages, task_bound,
};
use crate::study::{Shard, TRIAL_KERNELS};
use crate::what_if::Variation;
use clap::{Args, ValueHint};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Shown below the arguments.
const NARROW: &str = "\
In a narrow terminal, the table drops columns in this order: host, H2D, kern and D2H; set-up;
`and N runs`. If that is not enough, it wraps plan names, then drops `limited by`, `vs fastest` and
the range. Rank, plan and time are always shown.";

#[derive(Debug, Args)]
#[command(after_help = NARROW)]
pub(super) struct EvaluateArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Number of runs that share one set-up, 1 to 1000000 [default: the scenario's `runs`]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: Option<u64>,
    /// Show the full report, not just the first screen: more plans and columns, set-up, pinning,
    /// the critical path, and plans that cannot be made or predicted
    #[arg(long)]
    details: bool,
    /// Show every plan, not just the fastest ones and the best of each kind; implies --details
    #[arg(long)]
    all: bool,
    /// Also name the simplest plan that is at most this much slower than the fastest [default: 3%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    within: Option<f64>,
    /// Show how the answer changes as one number varies: `elements` (scales all buffers),
    /// `batches`, `runs`, `chunks`, or any other number in the scenario, named by its path or the
    /// last part of it. Values are a list (`batches=1,2,4`) or a range (`elements=1e4..1e9`). A
    /// range has 20 points, or the number given after a colon (`elements=1e4..1e9:30`)
    #[arg(long, value_name = "KEY=VALUES",
        conflicts_with_all =
            ["runs", "details", "all", "within", "trace", "plan", "what_if", "price", "baseline"])]
    sweep: Option<Asked>,
    /// Predict only one part of the sweep's values, such as 3/16. Write each part with `--format
    /// json`; `hallway merge` combines them
    #[arg(long, value_name = "PART", requires = "sweep")]
    shard: Option<Shard>,
    #[arg(long, value_enum, default_value = "table")]
    format: AnswerFormat,
    /// Also predict for a hypothetical machine or program, such as `link=gen4x16`, `h2d=0.5x`,
    /// `kernels=0.5x`, `multiprocessors=0.5x`, `threads=0.5x`, `memory=pinned`, `gpus=2`,
    /// `launch=0.5x` or `setup.pin=0`. Join changes with commas to apply them together; repeat the
    /// option to try alternatives. `0.5x` halves a capacity (link, h2d, d2h, multiprocessors,
    /// threads) or a time (all others)
    #[arg(long, value_name = "CHANGE")]
    what_if: Vec<Variation>,
    /// Hourly price of a machine, such as `h200=2.50`. Shows one row per machine, with the cost of
    /// the workload on it. Repeatable
    #[arg(long, value_name = "MACHINE=PRICE")]
    price: Vec<machines::Price>,
    /// Compare with an earlier result saved with `--format json`; exit with 1 if anything got worse
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    baseline: Option<PathBuf>,
    /// What counts as worse than --baseline: `slower=5%` (the fastest plan is over 5% slower),
    /// `verdict` (the verdict changed) or `missing` (a scenario is in only one of the two results);
    /// repeatable [default: slower=5%,verdict]
    #[arg(long, value_name = "WHAT", requires = "baseline", value_delimiter = ',')]
    fail_if: Vec<gate::FailIf>,
    /// Fit the text into this many columns [default: $COLUMNS, else the width of the terminal, else
    /// 80]
    #[arg(long, value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(i64::from(NARROWEST)..))]
    width: Option<u16>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the predicted timeline of one plan per scenario to this file, for Perfetto or
    /// Holistic Trace Analysis
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Name of the plan to trace [default: the fastest plan on the GPU]
    #[arg(long, value_name = "NAME", requires = "trace")]
    plan: Option<String>,
}

/// Answers for every value of a number.
fn swept(arguments: &EvaluateArguments, asked: &Asked) -> Result<Outcome, Failure> {
    let (predicting, output) = (&arguments.predicting, arguments.output.as_deref());
    let found = predicting.profile()?;
    let workloads = predicting.workloads()?;
    check_outputs(predicting.inputs([&found], &workloads), output)?;
    let report = sweep(predicting, &found, asked, arguments.shard)?;
    show(&report, arguments.format, arguments.width, output)
}

pub(super) fn run(arguments: &EvaluateArguments) -> Result<Outcome, Failure> {
    if let Some(asked) = &arguments.sweep {
        return swept(arguments, asked);
    }
    if arguments.format == AnswerFormat::Csv {
        return Err(Failure::input(miette::miette!(
            help = "add --sweep, or use --format json",
            "--format csv only works with --sweep"
        )));
    }
    if arguments.predicting.profile.len() > 1 || !arguments.price.is_empty() {
        return machines::run(arguments);
    }
    let predicting = &arguments.predicting;
    gate::check_limits(&arguments.fail_if)?;
    let baseline = gate::baseline(arguments)?;
    let found = predicting.profile()?;
    let workloads = predicting.contests()?;
    let inputs = predicting.inputs([&found], &workloads).chain(arguments.baseline.as_deref());
    let outputs = [&arguments.output, &arguments.trace].into_iter().flatten();
    check_outputs(inputs, outputs.map(PathBuf::as_path))?;
    what_if::check(&workloads, &found, &arguments.what_if)?;
    let progress = Progress::over_stages(workloads.len() * (1 + arguments.what_if.len()));
    let predictor = predicting.predictor(&found, &progress);
    let questions = Questions {
        runs: arguments.runs,
        within: arguments.within.unwrap_or(WITHIN),
        what_if: &arguments.what_if,
    };
    let (mut scenarios, mut traces) = (Vec::new(), Vec::new());
    for workload in &workloads {
        let (assessment, ranking) = evaluated(predictor, workload, &questions)?;
        if arguments.trace.is_some() {
            traces.push(traced(&ranking, workload, arguments.plan.as_deref(), None)?);
        }
        scenarios.push(assessment);
    }
    drop(progress);
    let of = (found.origin(), &found.profile);
    let mut evaluation = Evaluation::new(of, predicting.draws(), scenarios);
    if let (Some(baseline), Some(path)) = (&baseline, &arguments.baseline) {
        let path = path.display().to_string();
        evaluation = evaluation.against((&path, baseline), gate::limits(&arguments.fail_if));
    }
    let text = match arguments.format {
        AnswerFormat::Table => {
            let rows = match (arguments.all, arguments.details) {
                (true, _) => Rows::All,
                (false, true) => Rows::Notable,
                (false, false) => Rows::Screen,
            };
            let width = width(arguments.width, arguments.output.as_deref());
            evaluation.text_within(rows, Some(width.unwrap_or(USUAL_WIDTH)))
        }
        AnswerFormat::Json | AnswerFormat::Csv => json(&evaluation),
    };
    if let Some(path) = &arguments.trace {
        write_whole(path, &trace(&found.profile.machine, &traces))?;
    }
    deliver(&text, arguments.output.as_deref())?;
    let why = "; the notes below its name say why";
    let answered = Outcome::unless_unanswered(evaluation.unanswered(), why);
    let failures = evaluation.gate.iter().flat_map(|gate| &gate.failures);
    let fails = failures.inspect(|failure| eprintln!("{failure}")).count() > 0;
    Ok(match answered {
        Outcome::Done if fails => Outcome::CheckFailed,
        answered => answered,
    })
}

/// How often each plan is simulated to find the break-even, about: at every size, and between two.
const BREAK_EVEN: u64 = 30;

/// How much longer than the fastest plan the simplest may take that is named beside it.
pub(super) const WITHIN: f64 = 0.03;

/// What is asked of a scenario.
pub(super) struct Questions<'a> {
    /// Passes in one program, if not as many as the scenario says.
    pub runs: Option<u64>,
    pub within: f64,
    pub what_if: &'a [Variation],
}

/// Predicts all plans of a scenario, and draws up the answers.
pub(super) fn evaluated(
    predictor: Predictor<'_>,
    workload: &Workload,
    questions: &Questions<'_>,
) -> Result<(Assessment, Ranking), Failure> {
    let candidates = candidates_for(workload, &predictor.found.profile);
    let ranking = predictor.ranking_of(workload, candidates, BREAK_EVEN);
    let runs = questions.runs.unwrap_or(workload.runs);
    check_runs_count(workload, &ranking, runs)?;
    let Predictor { found, draws, progress } = predictor;
    let profile = &found.profile;
    let sizes = break_even_counted(workload, profile, draws, progress.tally());
    let mut assessment = Assessment::new(workload, runs, &ranking, sizes)
        .simplest(&ranking, questions.within)
        .bounded(task_bound(workload, profile))
        .short_of(&shortages(workload, &ranking, profile))
        .deciding(&deciding_times(&ranking, profile));
    if profile.accuracy.is_some() {
        let kernels = workload.tasks.iter().filter_map(|task| Some(task.kernel.library()?.0));
        let kernels: BTreeSet<Kernel> = kernels.collect();
        let untried = kernels.into_iter().filter(|one| !TRIAL_KERNELS.contains(one));
        assessment = assessment.without_trials_of(untried);
    }
    let what_if = questions.what_if.iter();
    let what_if = what_if.map(|variation| what_if::ask(predictor, workload, runs, variation));
    let what_if = what_if.collect::<Result<Vec<_>, _>>()?;
    Ok((assessment.varied(InBrief::of(&ranking, runs), what_if), ranking))
}

/// A share from 0 to 1, as in `5%`.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..=100.0).contains(percent));
    share
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write a percentage, such as `5%`".to_owned())
}
