//! The command line: arguments, files, progress; one file per command that has arguments.
//!
//! Exit codes: 0 done; 1 a check did not hold, or a scenario has no answer; 2 bad
//! input or arguments; 3 no GPU where one is needed; 4 the GPU or the machine
//! failed; 130 interrupted.
//!
//! Invariant: every input is read and checked before anything is written.

mod advise;
mod calibrate;
mod check;
mod compare;
mod completions;
mod doctor;
mod evaluate;
mod explain;
mod failure;
mod fit;
mod import;
mod imported;
mod init;
mod ledger;
mod merge;
mod new_process;
mod outputs;
mod own_kernels;
mod plot;
mod profiles;
mod progress;
mod record;
mod report;
mod sweep;
mod terminal;
mod traces;
mod verify;

use crate::files::without_controls;
use crate::fit::Filter;
use crate::machine::GpuModel;
use crate::profile::{Profile, Rule};
use crate::report::{library, rules_left_out};
use crate::scenario::SCHEMA;
use crate::simulate::Draws;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use failure::{Failure, asks_for_json};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shown below the commands.
const EXIT_CODES: &str = "\
New here?
  hallway init my.toml      write a starter scenario
  hallway evaluate my.toml  is the GPU worth it, and which plan is fastest?

Exit codes: 0 done; 1 a check failed or a scenario has no answer; 2 bad input or arguments;
3 a GPU is needed but there is none; 4 the GPU or the machine failed; 130 interrupted.";

/// Predicts whether a workload is worth moving to a GPU, and which plan of copies and kernels is
/// fastest, from measurements of a real machine.
#[derive(Debug, Parser)]
#[command(name = "hallway", version, max_term_width = 100)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented starter scenario and the JSON Schema that lets editors validate it
    Init(init::InitArguments),
    /// Check this machine's GPUs, libraries and settings, and say what will not work
    Doctor(doctor::DoctorArguments),
    /// Report every mistake in scenarios, profiles, samples and tables
    Check(check::CheckArguments),
    /// Measure this machine and fit its profile
    Calibrate(calibrate::CalibrateArguments),
    /// Fit a profile to existing samples
    Fit(fit::FitArguments),
    /// Show which parameters of two profiles differ by more than repeated calibrations do
    Compare(compare::CompareArguments),
    /// Predict every plan of a scenario: is the GPU worth it, and which plan is fastest?
    Evaluate(evaluate::EvaluateArguments),
    /// Turn a profiler's trace or a recording into a scenario that you can edit and evaluate
    Import(import::ImportArguments),
    /// Show what a plan does, or where the time in a trace goes and what to change
    Explain(explain::ExplainArguments),
    /// Suggest changes to a program in a trace, a recording or a scenario, and predict their gains
    Advise(advise::AdviseArguments),
    /// Run the plans on the GPU and score the predictions
    Verify(verify::VerifyArguments),
    /// Show what each rule of the simulator and each filter of the fit is worth: errors on recorded
    /// runs with and without it
    Ledger(ledger::LedgerArguments),
    /// Merge the results of several `verify --shard` or `evaluate --sweep --shard` processes
    Merge(merge::MergeArguments),
    /// Run a program that uses CUDA, and record its calls, its copies and what the GPU did
    Record(record::RecordArguments),
    /// Write an HTML page for a design review: answers, plans, timelines and break-even points
    Report(report::ReportArguments),
    /// List the library kernels that a scenario can use
    Kernels,
    /// Print the JSON Schema of scenarios
    Schema,
    /// Print a shell completion script
    Completions(completions::CompletionsArguments),
    /// Measure kernels in this process, supervised by another one
    #[command(name = own_kernels::MEASURE, hide = true)]
    MeasureKernels,
    /// Time this process's first use of the GPU, for a calibration that starts it
    #[command(name = new_process::MEASURE, hide = true)]
    MeasureNewProcess(new_process::NewProcessArguments),
    /// Make calls of each kind in a row, for a recording that has to know its own cost
    #[command(name = record::MAKE_CALLS, hide = true)]
    MakeAlikeCalls,
    /// Plot plans, timelines, sweeps, copy bandwidth, and predicted against measured times
    Plot(plot::PlotArguments),
}

/// Arguments of every command that predicts.
#[derive(Debug, Args)]
struct Predicting {
    /// Scenario files
    #[arg(required = true, value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    scenarios: Vec<PathBuf>,
    /// Profile of the machine to predict for, or the profile's folder [default: the newest in
    /// calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Vec<PathBuf>,
    /// Predict for a different GPU in the profile's host, such as rtx-4060-laptop, using the data
    /// sheets of both GPUs
    #[arg(long, value_name = "MODEL", value_parser = crate::what_if::gpu_model)]
    gpu_model: Option<&'static GpuModel>,
    #[command(flatten)]
    switches: Switches,
    /// Seed for the simulated draws that the predicted ranges are computed from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of simulated draws that the predicted ranges are computed from, 10 to 10000
    #[arg(long, default_value_t = crate::simulate::DRAWS as u16,
        value_parser = clap::value_parser!(u16).range(10..=10_000))]
    draws: u16,
}

impl Predicting {
    fn draws(&self) -> Draws {
        Draws::new(self.draws.into(), self.seed)
    }
}

/// Rules that a prediction leaves out.
#[derive(Debug, Clone, Default, Args)]
struct Switches {
    /// Leave a rule of the simulator out, such as semaphore-polling; repeatable. docs/simulator.md
    /// describes each rule under its name
    #[arg(long, value_name = "RULE", value_parser = rule)]
    without: Vec<Rule>,
}

impl Switches {
    /// The machine without these rules.
    fn applied(&self, profile: Profile) -> Profile {
        self.without.iter().fold(profile, |profile, &rule| profile.without(rule))
    }

    /// A line that names the rules; empty if there are none.
    fn said(&self) -> String {
        let rules = rules_left_out(&self.without);
        rules.map_or(String::new(), |rules| format!("\nLeft out: {rules}.\n"))
    }
}

/// Reads the name of a rule.
fn rule(name: &str) -> Result<Rule, String> {
    let names = || Rule::ALL.map(Rule::name).join(", ");
    Rule::from_name(name).ok_or_else(|| format!("the rules are {}", names()))
}

/// Reads the name of a filter.
fn filter(name: &str) -> Result<Filter, String> {
    let names = || Filter::ALL.map(Filter::name).join(", ");
    Filter::from_name(name).ok_or_else(|| format!("the filters are {}", names()))
}

/// Format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// The result of a command that did not fail.
enum Outcome {
    Done,
    /// The answer is "no".
    CheckFailed,
    /// The answer is that the input is wrong.
    BadInput,
    /// The answer is that there is no GPU.
    NoGpu,
    /// No plan of a scenario could be predicted.
    NoAnswer,
    /// A program that was run failed with this code.
    Exit(u8),
}

impl Outcome {
    /// Names the scenarios of which no plan can be predicted, with what else there is to say.
    fn unless_unanswered<'n>(names: impl Iterator<Item = &'n str>, where_or_why: &str) -> Self {
        let said =
            names.inspect(|name| eprintln!("{name}: no plan could be predicted{where_or_why}"));
        if said.count() == 0 { Self::Done } else { Self::NoAnswer }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CheckFailed | Self::NoAnswer => 1,
            Self::BadInput => 2,
            Self::NoGpu => 3,
            Self::Exit(code) => code,
        }
    }
}

/// Runs the command that the arguments of the process name, and reports what went wrong, if
/// anything did.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let in_json = asks_for_json(&arguments);
    let outcome = match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => run(&arguments.command),
        // Help and the version are answers.
        Err(error) if !error.use_stderr() => print(&error.render().to_string()),
        Err(error) if !in_json => {
            let shown = without_controls(&error.render().to_string());
            let _ = write!(std::io::stderr(), "{shown}");
            Ok(Outcome::BadInput)
        }
        Err(error) => Err(Failure::usage(&error)),
    };
    let code = match outcome {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            // Whoever closed the other end does not want to know; the code still says it.
            let _ = writeln!(std::io::stderr(), "{}", failure.shown(in_json));
            failure.kind.code()
        }
    };
    ExitCode::from(code)
}

/// Answers with a text.
fn print(text: &str) -> Result<Outcome, Failure> {
    profiles::deliver(text, None).map(|()| Outcome::Done)
}

fn run(command: &Command) -> Result<Outcome, Failure> {
    match command {
        Command::Advise(arguments) => advise::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Init(arguments) => init::run(arguments),
        Command::Kernels => print(&library(terminal::width(None, None))),
        Command::Ledger(arguments) => ledger::run(arguments),
        Command::MakeAlikeCalls => record::make_calls(),
        Command::MeasureKernels => own_kernels::measure(),
        Command::MeasureNewProcess(arguments) => new_process::measure(arguments),
        Command::Merge(arguments) => merge::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Schema => print(SCHEMA),
        Command::Verify(arguments) => verify::run(arguments),
    }
}
