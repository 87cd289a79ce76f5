//! `hallway evaluate`: predict and rank every plan.

mod machines;

use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, Predictor, check_runs_count, deliver, write_whole};
use super::progress::Progress;
use super::sweep::{AnswerFormat, Asked, show, sweep};
use super::terminal::{NARROWEST, USUAL_WIDTH, width};
use super::traces::traced;
use super::{Failure, Outcome, Predicting};
use crate::files;
use crate::findings::{Assessment, InBrief, Turning, WhatIf};
use crate::kernels::Kernel;
use crate::report::{Baseline, Evaluation, Gate, Limits, Rows, json, trace};
use crate::scenario::Workload;
use crate::search::{
    Ranking, break_even_counted, candidates_for, deciding_times, shortages, task_bound,
};
use crate::study::{Shard, TRIAL_KERNELS};
use crate::what_if::{Variation, Varied, turning_factor, vary};
use clap::{Args, ValueHint};
use rayon::join;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Shown below the arguments.
const NARROW: &str = "\
In a narrow terminal, the table drops columns in this order: host, H2D, kern and D2H; set-up;
`and N runs`. If this is not enough, it wraps plan names, then drops `limited by`, `vs fastest` and
the range. It always shows rank, plan and time.";

#[derive(Debug, Args)]
#[command(after_help = NARROW)]
pub(super) struct EvaluateArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Number of runs that share one set-up, 1 to 1000000 [default: the scenario's `runs`]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: Option<u64>,
    /// Show the full report, not just the first screen: more plans and columns, set-up, pinning,
    /// the critical path, and plans that are not possible or cannot be predicted
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
    fail_if: Vec<FailIf>,
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
        let help = "add --sweep, or use --format json";
        return Err(Failure::refused("--format csv only works with --sweep", help));
    }
    if arguments.predicting.profile.len() > 1 || !arguments.price.is_empty() {
        return machines::run(arguments);
    }
    let predicting = &arguments.predicting;
    check_limits(&arguments.fail_if)?;
    let baseline = arguments.baseline.as_deref().map(baseline).transpose()?;
    let found = predicting.profile()?;
    let workloads = predicting.contests()?;
    let inputs = predicting.inputs([&found], &workloads).chain(arguments.baseline.as_deref());
    let outputs = [&arguments.output, &arguments.trace].into_iter().flatten();
    check_outputs(inputs, outputs.map(PathBuf::as_path))?;
    check_changes(&workloads, &found, &arguments.what_if)?;
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
        let now = (&evaluation.profile, &evaluation.scenarios[..]);
        evaluation.gate = Some(Gate::new(now, (&path, baseline), limits(&arguments.fail_if)));
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
    let why = "; the lines below its name say why";
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
    let done = progress.tally();
    let ((sizes, deciding), (bound, shortages)) = join(
        || {
            let sizes = || break_even_counted(workload, profile, draws, done);
            join(sizes, || deciding_times(&ranking, profile))
        },
        || {
            let bound = || task_bound(workload, profile);
            join(bound, || shortages(workload, &ranking, profile))
        },
    );
    let mut assessment = Assessment::new(workload, runs, &ranking, sizes)
        .simplest(&ranking, questions.within)
        .bounded(bound)
        .short_of(&shortages)
        .deciding(&deciding);
    if profile.accuracy.is_some() {
        let kernels = workload.tasks.iter().filter_map(|task| Some(task.kernel.library()?.0));
        let kernels: BTreeSet<Kernel> = kernels.collect();
        let untried = kernels.iter().filter(|one| !TRIAL_KERNELS.contains(one));
        assessment.untried = Some(untried.map(Kernel::to_string).collect());
    }
    let what_if = questions.what_if.iter();
    let what_if = what_if.map(|variation| changed_answer(predictor, workload, runs, variation));
    assessment.what_if = what_if.collect::<Result<_, _>>()?;
    assessment.today = (!assessment.what_if.is_empty()).then(|| InBrief::of(&ranking, runs));
    Ok((assessment, ranking))
}

/// A share from 0 to 1, as in `5%`.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    Ok(percent.ok_or("write a percentage, such as `5%`")? / 100.0)
}

/// What fails the check, as a user names it.
#[derive(Debug, Clone, Copy)]
enum FailIf {
    Slower(f64),
    Verdict,
    Missing,
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().split_once('=') {
            None if text.trim() == "verdict" => Ok(Self::Verdict),
            None if text.trim() == "missing" => Ok(Self::Missing),
            Some(("slower", share)) => self::share(share).map(Self::Slower),
            _ => Err("write `slower=5%`, `verdict` or `missing`".to_owned()),
        }
    }
}

/// What fails: by default, a fastest plan that is over 5% slower and another verdict.
fn limits(asked: &[FailIf]) -> Limits {
    const USUAL: [FailIf; 2] = [FailIf::Slower(0.05), FailIf::Verdict];
    let mut limits = Limits { slower: None, verdict: false, missing: false };
    for one in if asked.is_empty() { &USUAL } else { asked } {
        match one {
            FailIf::Slower(share) => limits.slower = Some(*share),
            FailIf::Verdict => limits.verdict = true,
            FailIf::Missing => limits.missing = true,
        }
    }
    limits
}

/// Refuses two shares for one thing: it would depend on their order which of them counts.
fn check_limits(asked: &[FailIf]) -> Result<(), Failure> {
    let shares = asked.iter().filter(|one| matches!(one, FailIf::Slower(_))).count();
    if shares < 2 {
        return Ok(());
    }
    Err(Failure::refused(format!("--fail-if has `slower=` {shares} times"), "give it once"))
}

/// Bytes of an evaluation: thousands of scenarios.
const LARGEST_BASELINE: u64 = 256 << 20;

/// Reads an earlier evaluation.
fn baseline(path: &Path) -> Result<Baseline, Failure> {
    let refused = |problem: String| {
        Failure::refused(
            format!("{} cannot be used as a baseline: {problem}", path.display()),
            "write one with `hallway evaluate SCENARIO... --format json --output FILE`",
        )
    };
    let text = files::read(path, LARGEST_BASELINE).map_err(|error| refused(error.to_string()))?;
    Baseline::read(&text).map_err(refused)
}

/// Refuses what cannot be changed before anything is predicted.
pub(super) fn check_changes(
    workloads: &[Workload],
    found: &LoadedProfile,
    variations: &[Variation],
) -> Result<(), Failure> {
    for workload in workloads {
        for variation in variations {
            varied(workload, found, variation)?;
        }
    }
    Ok(())
}

fn varied(
    workload: &Workload,
    found: &LoadedProfile,
    variation: &Variation,
) -> Result<Varied, Failure> {
    vary(&found.profile, workload, variation).map_err(|problem| {
        let what = format!("--what-if {variation}, `{}`: {problem}", workload.name);
        Failure::input(miette::Report::msg(what))
    })
}

/// The answer if something were different.
fn changed_answer(
    predictor: Predictor<'_>,
    workload: &Workload,
    runs: u64,
    variation: &Variation,
) -> Result<WhatIf, Failure> {
    let found = predictor.found;
    let Varied { profile, workload: changed, assumptions } = varied(workload, found, variation)?;
    let has_other_gpu = found.has_other_gpu || profile.machine.gpu != found.profile.machine.gpu;
    let there = LoadedProfile { profile, path: found.path.clone(), has_other_gpu };
    let ranking = Predictor { found: &there, ..predictor }.ranking(&changed);
    check_runs_count(&changed, &ranking, runs)?;
    let unknown = ranking.unknown.first().filter(|_| ranking.plans.is_empty());
    let turn = turning_factor(&found.profile, workload, variation);
    Ok(WhatIf {
        change: variation.to_string(),
        answer: InBrief::of(&ranking, runs),
        turning: turn.map(|turn| Turning::of(turn.as_ref())),
        assumptions,
        unknown: unknown.map(|(_, unknown)| unknown.to_string()),
    })
}
