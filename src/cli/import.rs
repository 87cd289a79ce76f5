//! `hallway import`: a trace to a scenario.

use super::outputs::check_outputs;
use super::profiles::write_whole;
use super::progress::Progress;
use super::{Failure, Outcome, print};
use crate::program::check_hazards;
use crate::report::traced;
use crate::scenario::{Source, Workload};
use crate::trace::{self, HostTime, Pass, Spelled, SpelledMemory, Spelling, Trace};
use clap::{Args, ValueHint};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const BELOW: &str = "\
A trace is a recording from `hallway record`, a JSON file from the PyTorch profiler (Kineto),
plain or gzipped, or an Nsight Systems database (nsys export --type sqlite).

The result is a scenario with one program, call by call. You can change its sizes, memory, streams
and kernel times, and predict it with `hallway evaluate`. If the trace has a loop, the program is
the pass (iteration) of median duration, otherwise the whole trace. Each kernel takes the median
time of the kernels with its name and grid. Between two calls, the host works for as long as it
did in the trace.";

#[derive(Debug, Args)]
#[command(after_help = BELOW)]
pub(super) struct ImportArguments {
    /// Trace to import
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// File to write the scenario to [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Import this pass (iteration) of the loop, counted from 1, instead of the one of median
    /// duration
    #[arg(long, value_name = "N", conflicts_with = "all",
        value_parser = clap::value_parser!(u32).range(1..))]
    pass: Option<u32>,
    /// Import the whole trace instead of one pass of its loop
    #[arg(long)]
    all: bool,
    /// Give each kernel launch its own measured time instead of the median for its kind of kernel
    #[arg(long)]
    measured: bool,
    /// Also write the times of the trace's copies and calls to this table (.csv), which `hallway
    /// fit` turns into a profile of the machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    table: Option<PathBuf>,
}

pub(super) fn run(arguments: &ImportArguments) -> Result<Outcome, Failure> {
    let ImportArguments { trace: path, output, table, .. } = arguments;
    let outputs = output.iter().chain(table).map(PathBuf::as_path);
    check_outputs([path.as_path()], outputs)?;
    let trace = read_trace(path)?;
    if !trace.has_calls() {
        return Err(Failure::refused(
            format!("{} has no host calls, which a program consists of", path.display()),
            "record the program again with its calls: `hallway record` without --device-only, and \
             with no other profiler in the process",
        ));
    }
    let pass = trace.pass();
    let calls = arguments.calls(&trace, pass.as_ref())?;
    let how = Spelling {
        each_kernel: arguments.measured,
        each_call: table.is_some(),
        host: HostTime::WithoutRecorder,
        ..Spelling::default()
    };
    let spelled = spelled(&trace, &stem(path), calls, how);
    check(path, &spelled)?;
    eprint!("{}", traced::imported(&trace, pass.as_ref(), &spelled));
    if let Some(table) = table {
        write_whole(table, &trace.table())?;
    }
    match output {
        Some(output) => write_whole(output, &spelled.text).map(|()| Outcome::Done),
        None => print(&spelled.text),
    }
}

/// Reads a trace, and shows that something is being done.
pub(super) fn read_trace(path: &Path) -> Result<Trace, Failure> {
    let progress = Progress::over_stages(1);
    progress.begin("reading the trace", 1);
    trace::read(path).map_err(|error| Failure::input(miette::Report::msg(error.to_string())))
}

/// The name of a scenario that comes from a file.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "trace".to_owned() } else { name.to_owned() }
}

/// A part of a trace with its memory by addresses, where the trace has them. If nothing orders two
/// calls that then use the same memory, each stream has its own instead: a scenario with a race is
/// of no use.
fn spelled(trace: &Trace, name: &str, calls: Range<usize>, how: Spelling) -> Spelled {
    let as_spelled = |memory| trace.spelled(name, calls.clone(), Spelling { memory, ..how });
    let has_no_race = |one: &Spelled| {
        let read = Workload::from_toml(name, &one.text).ok();
        let program = read.and_then(|workload| workload.programs.into_iter().next());
        program.is_some_and(|program| check_hazards(&program).is_ok())
    };
    let by_address = trace.has_addresses().then(|| as_spelled(SpelledMemory::ByAddress));
    by_address.filter(has_no_race).unwrap_or_else(|| as_spelled(SpelledMemory::OfStreams))
}

/// Reads what was written: a scenario that nothing can read is of no use.
fn check(path: &Path, spelled: &Spelled) -> Result<(), Failure> {
    let read = Source::from_toml(path, &spelled.text);
    read.map(|_| ()).map_err(|error| {
        let what = format!("{} cannot be written as a scenario: {error}", path.display());
        Failure::refused(what, "import a different part of it with --pass")
    })
}

impl ImportArguments {
    /// Which calls to import.
    fn calls(&self, trace: &Trace, pass: Option<&Pass>) -> Result<Range<usize>, Failure> {
        let whole = 0..trace.calls.len();
        let Some(pass) = pass.filter(|_| !self.all) else {
            return match self.pass {
                Some(_) => Err(Failure::refused(
                    format!("{} has no loop", self.trace.display()),
                    "leave out --pass to import all of it",
                )),
                _ => Ok(whole),
            };
        };
        let turn = match self.pass {
            None => pass.steady,
            Some(number) => number as usize - 1,
        };
        let [from, to] = *pass.turns.get(turn).ok_or_else(|| {
            let turns = pass.turns.len();
            Failure::refused(
                format!("the loop in {} has {turns} passes", self.trace.display()),
                format!("choose a number from 1 to {turns}"),
            )
        })?;
        Ok(from..to)
    }
}
