//! `hallway advise`: what would help a program, and by how much.

mod measured;
mod recorded;
mod tasks;

use super::imported::KernelUses;
use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, deliver, load, write_whole};
use super::progress::Progress;
use super::terminal::{NARROWEST, USUAL_WIDTH, width};
use super::{Failure, Format, Outcome, Predicting, Switches};
use crate::advise::{Advice, Advised, Remedy, Subject, advise};
use crate::cost::CompileError;
use crate::program::Program;
use crate::report::{AdviceReport, Against, Remedies, json};
use crate::scenario::Workload;
use crate::simulate::simulate;
use crate::trace::{self, Account};
use crate::units::Span;
use clap::{Args, ValueHint};
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const BELOW: &str = "\
A remedy rewrites the program without changing its results: it pins memory, waits later, uses a
second stream, and so on. Each remedy is simulated by itself; then others are added to the best
one. If a rewritten program has a race or produces different data, it is not shown.

If a scenario has tasks instead of programs, `advise` begins with a plan for them, and also tries
others: on the CPU, on CPU and GPU, on several GPUs, scheduled by task.

For a trace, `advise` looks at the loop's pass (iteration) of median duration. Facts
that a trace cannot show, such as whether the host reads a result at once, are given as
conditions: see `--details`.";

/// How often the calls of a program are simulated, about: every remedy in some variants, in several
/// rounds.
const SIMULATED: u64 = 120;

#[derive(Debug, Args)]
#[command(after_help = BELOW)]
pub(super) struct AdviseArguments {
    /// Trace, recording, or scenario
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Program of the scenario to advise on, or plan for its tasks [default: the first program; of
    /// the plans, the simplest on one GPU]
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Profile of the machine to predict for, or the profile's folder [default: the newest in
    /// calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Option<PathBuf>,
    #[command(flatten)]
    switches: Switches,
    #[command(flatten)]
    uses: KernelUses,
    /// Show every remedy, its conditions, and how to write it in PyTorch, CuPy and CUDA C
    #[arg(long)]
    details: bool,
    /// Also run the program and each change on this machine's GPU, and show what was measured.
    /// Kernels without code are replaced by stand-ins that take the stated or recorded time
    #[arg(long)]
    verify: bool,
    /// Index of the GPU to run on, counted from 0
    #[arg(long, default_value_t = 0, requires = "verify")]
    gpu: usize,
    /// Also write the program and each change to this file as a scenario with one program for each,
    /// ready to edit, predict and run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    programs: Option<PathBuf>,
    /// Compare a recording of the changed program with what was predicted for the change: which
    /// change it is, how much of the gain was realized, and what differs
    #[arg(long, value_name = "RECORDING", conflicts_with_all = ["verify", "programs"],
        value_hint = ValueHint::FilePath)]
    against: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Seed for the simulated draws that the predicted ranges are computed from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of simulated draws that the predicted ranges are computed from, 10 to 10000
    #[arg(long, default_value_t = crate::simulate::DRAWS as u16,
        value_parser = clap::value_parser!(u16).range(10..=10_000))]
    draws: u16,
    /// Fit the text into this many columns [default: $COLUMNS, else the width of the terminal, else
    /// 80]
    #[arg(long, value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(i64::from(NARROWEST)..))]
    width: Option<u16>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What to advise on.
struct Asked {
    name: String,
    /// The scenario that the program is of.
    workload: Workload,
    subject: Subject,
    others: Vec<String>,
    recorded: Option<Span>,
    /// The GPU that it was recorded on.
    recorded_on: Option<String>,
    /// Where the time of the recorded pass goes.
    account: Option<Account>,
}

pub(super) fn run(arguments: &AdviseArguments) -> Result<Outcome, Failure> {
    let predicting = Predicting {
        scenarios: vec![arguments.file.clone()],
        profile: arguments.profile.iter().cloned().collect(),
        gpu_model: None,
        seed: arguments.seed,
        draws: arguments.draws,
        switches: arguments.switches.clone(),
    };
    let found = predicting.profile()?;
    let inputs = [arguments.file.as_path(), found.path.as_path()];
    check_outputs(
        inputs,
        arguments.output.iter().chain(&arguments.programs).map(PathBuf::as_path),
    )?;
    let program = arguments.program.as_deref();
    let asked = asked(&arguments.file, program, &arguments.uses, (&predicting, &found))?;
    let mut advised = advised(&predicting, &found, &asked)?;
    if let Some(path) = &arguments.programs {
        let programs = measured::programs(&asked, &advised);
        write_whole(path, &measured::scenario(&asked.workload, &programs))?;
    }
    if arguments.verify {
        let on = (arguments.gpu, arguments.seed);
        measured::measure(&mut advised, &asked, &found, on)?;
    }
    let against = arguments.against.as_deref();
    let against = against.map(|path| compared(path, &asked, &advised)).transpose()?;
    let draws = (arguments.seed, predicting.draws);
    let report = AdviceReport { against, ..report(&found, asked, draws, advised.advice) };
    let text = match arguments.format {
        Format::Table => {
            let width = width(arguments.width, arguments.output.as_deref());
            report.text(arguments.details, Some(width.unwrap_or(USUAL_WIDTH)))
        }
        Format::Json => json(&report),
    };
    deliver(&text, arguments.output.as_deref()).map(|()| Outcome::Done)
}

fn advised(
    predicting: &Predicting,
    found: &LoadedProfile,
    asked: &Asked,
) -> Result<Advised, Failure> {
    let progress = Progress::over_stages(1);
    let draws = predicting.predictor(found, &progress).draws;
    let Asked { name, subject, .. } = asked;
    let program = &subject.program.label;
    let calls = subject.program.body.len() as u64;
    let drawn = (Remedy::ALL.len() + 2) * draws.count;
    progress.begin("trying remedies", calls * (SIMULATED + drawn as u64));
    advise(subject, &found.profile, draws, progress.tally()).map_err(|error| {
        Failure::refused(
            format!("`{program}` of {name} cannot be predicted: {error}"),
            "name another profile with --profile",
        )
    })
}

fn report(
    found: &LoadedProfile,
    asked: Asked,
    (seed, draws): (u64, u16),
    advice: Advice,
) -> AdviceReport {
    let Asked { name, subject, others, recorded, recorded_on, .. } = asked;
    AdviceReport {
        profile: found.origin(),
        seed,
        draws: usize::from(draws),
        name,
        program: subject.program.label,
        others,
        recorded_ns: recorded,
        recorded_on,
        advice,
        against: None,
    }
}

/// A recording of the changed program, beside what was predicted.
fn compared(path: &Path, asked: &Asked, advised: &Advised) -> Result<Against, Failure> {
    let Some(before) = &asked.account else {
        return Err(Failure::refused(
            "--against compares two recordings, but the first file is a scenario",
            "pass the recording of the program before the change",
        ));
    };
    let changed = recorded::of_trace(path, &KernelUses::default())?;
    let account = changed.account.as_ref().expect("a trace has one");
    let before = (&asked.subject.program, before.span);
    Ok(Against::new(changed.name, advised, before, (&changed.subject.program, account)))
}

/// What would help a scenario's first program, or a trace, with the timelines for a page. `None`
/// for a scenario without a program.
pub(super) fn remedies(
    path: &Path,
    predicting: &Predicting,
    found: &LoadedProfile,
) -> Result<Option<Remedies>, Failure> {
    if !trace::is_trace(path) && load(path)?.programs.is_empty() {
        return Ok(None);
    }
    let asked = asked(path, None, &KernelUses::default(), (predicting, found))?;
    let advised = advised(predicting, found, &asked)?;
    let unknown =
        |error: CompileError| Failure::refused(error, "name another profile with --profile");
    let timeline = |program: &Program| simulate(program, &found.profile).map_err(unknown);
    let before = timeline(&asked.subject.program)?;
    let after = advised.best.as_ref().map(|best| timeline(&best.program)).transpose()?;
    let report = report(found, asked, (predicting.seed, predicting.draws), advised.advice);
    Ok(Some(Remedies { report, before, after }))
}

/// The program that the file has, or is a trace of.
fn asked(
    path: &Path,
    program: Option<&str>,
    uses: &KernelUses,
    (predicting, found): (&Predicting, &LoadedProfile),
) -> Result<Asked, Failure> {
    if trace::is_trace(path) {
        if program.is_some() {
            return Err(Failure::refused(
                format!(
                    "--program chooses a program from a scenario, but {} is a trace",
                    path.display()
                ),
                "leave out --program",
            ));
        }
        return recorded::of_trace(path, uses);
    }
    if !uses.is_empty() {
        return Err(Failure::refused(
            format!(
                "--reads and --writes are for recordings, but {} is a scenario",
                path.display()
            ),
            "edit `reads` and `writes` of its launches",
        ));
    }
    let workload = load(path)?;
    if workload.programs.is_empty() {
        return tasks::of_tasks(workload, program, predicting, found);
    }
    let others = workload.programs.iter().map(|one| one.label.clone());
    let mut others: Vec<String> = others.collect();
    let at = chosen(&workload, program)?;
    let _ = others.remove(at);
    let program: Program = workload.programs[at].clone();
    Ok(Asked {
        name: workload.name.clone(),
        workload,
        subject: Subject::spelled(program),
        others,
        recorded: None,
        recorded_on: None,
        account: None,
    })
}

/// The position of the program to advise on.
fn chosen(workload: &Workload, named: Option<&str>) -> Result<usize, Failure> {
    let name = &workload.name;
    let Some(named) = named else { return Ok(0) };
    let labels = workload.programs.iter().map(|one| one.label.as_str());
    let labels: Vec<&str> = labels.collect();
    labels.iter().position(|label| *label == named).ok_or_else(|| {
        Failure::refused(
            format!("`{name}` has no program `{named}`"),
            format!("use one of these: `{}`", labels.join("`, `")),
        )
    })
}
