//! The command line: arguments, files, progress; one file per command.
//!
//! Exit codes: 0 done; 1 a check did not hold, or a scenario has no answer; 2 bad
//! input or arguments; 3 no GPU where one is needed; 4 the GPU or the machine
//! failed; 130 interrupted.
//!
//! Invariant: every input is read and checked before anything is written.

mod calibrate;
mod compare;
mod evaluate;
mod fit;
mod kernels;
mod outputs;
mod plot;
mod profiles;
mod verify;

use crate::execute::ExecuteError;
use crate::profile::ProfileError;
use crate::report::Drawn;
use crate::runs::RunsError;
use crate::samples::SamplesError;
use crate::trials::TrialError;
use clap::{Args, Parser, Subcommand, ValueEnum};
use miette::{Diagnostic, MietteDiagnostic, miette};
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Predicts whether a GPU pays for a workload, and which plan of copies and
/// kernels wins, from measurements of a real machine.
#[derive(Debug, Parser)]
#[command(name = "hallway", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 a check did not hold or a scenario has no answer, \
                        2 bad input or arguments, 3 no GPU where one is needed, 4 the GPU or the \
                        machine failed, 130 interrupted.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure this machine and fit its profile
    Calibrate(calibrate::CalibrateArguments),
    /// Fit a profile to samples that were taken before
    Fit(fit::FitArguments),
    /// Say which parameters of two profiles differ by more than calibrations do
    Compare(compare::CompareArguments),
    /// Predict every plan of a scenario: does the GPU pay, and which plan wins?
    Evaluate(evaluate::EvaluateArguments),
    /// Run the plans on the GPU and score the predictions
    Verify(verify::VerifyArguments),
    /// List the kernels that a scenario can use
    Kernels,
    /// Draw the winning plan, the predictions against the runs, and the bandwidth curve
    Plot(plot::PlotArguments),
}

/// What every command that predicts takes.
#[derive(Debug, Args)]
struct Predicting {
    /// Scenario files
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<PathBuf>,
    /// Profile of the machine to predict, or its folder [default: the newest in calibration/*/]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Seed of the draws behind every interval
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draws behind every interval: 10 to 10000
    #[arg(long, default_value_t = crate::simulate::DRAWS as u16,
        value_parser = clap::value_parser!(u16).range(10..=10_000))]
    draws: u16,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// What a command comes to when nothing failed.
enum Outcome {
    Done,
    CheckFailed,
    /// Of a scenario, no plan could be predicted.
    NoAnswer,
}

/// A failure that ends a command: its exit code goes by its kind.
#[derive(Debug)]
enum Failure {
    Input(miette::Report),
    NoGpu(String),
    Machine(miette::Report),
    /// By the user, with what to say about it.
    Interrupted(String),
}

impl Failure {
    /// With the help that the error gives; its causes are in its message already.
    fn input(error: &impl Diagnostic) -> Self {
        let mut shown = MietteDiagnostic::new(error.to_string());
        shown.help = error.help().map(|help| help.to_string());
        Self::Input(miette::Report::new(shown))
    }

    /// A place that cannot be written is the user's to choose; one that is full is the machine's.
    fn unwritten(path: impl Display, error: &io::Error) -> Self {
        let report = miette!(
            help = "name a place with room that you may write to",
            "cannot write {path}: {error}"
        );
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Machine(report),
            _ => Self::Input(report),
        }
    }

    fn machine(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Machine(miette::Report::msg(error.to_string()))
    }
}

impl From<crate::gpu::GpuError> for Failure {
    fn from(error: crate::gpu::GpuError) -> Self {
        if error.is_absence() { Self::NoGpu(error.to_string()) } else { Self::machine(error) }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        match &error {
            ProfileError::Write { path, source } => Self::unwritten(path, source),
            other => Self::input(other),
        }
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        match &error {
            RunsError::Write { path, source } => Self::unwritten(path, source),
            other => Self::input(other),
        }
    }
}

impl From<SamplesError> for Failure {
    fn from(error: SamplesError) -> Self {
        Self::input(&error)
    }
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        match error.source {
            ExecuteError::Gpu(error) => Self::from(error),
            _ => Self::machine(error),
        }
    }
}

/// For standard error: coloured only where that is a terminal whose user did not refuse.
fn drawn(report: &miette::Report) -> String {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let is_coloured = std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb;
    Drawn::new(report.as_ref(), is_coloured).to_string().trim_end().to_owned()
}

/// Runs a command and reports what went wrong, if anything did.
pub fn run(arguments: Arguments) -> ExitCode {
    let outcome = match arguments.command {
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Kernels => kernels::run(),
        Command::Plot(arguments) => plot::run(&arguments),
    };
    let (code, message) = match outcome {
        Ok(Outcome::Done) => (0, None),
        Ok(Outcome::CheckFailed | Outcome::NoAnswer) => (1, None),
        Err(Failure::Input(report)) => (2, Some(drawn(&report))),
        Err(Failure::NoGpu(why)) => (3, Some(format!("hallway: this needs a GPU: {why}"))),
        Err(Failure::Machine(report)) => (4, Some(drawn(&report))),
        // As the shell has it for programs that an interrupt ends: 128 and its number.
        Err(Failure::Interrupted(message)) => (130, Some(message)),
    };
    if let Some(message) = message {
        // Whoever closed the other end does not want to know; the code still says it.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
    ExitCode::from(code)
}
