//! `hallway import`: a trace to a scenario.

use super::imported::{KernelUses, scenario, spelled, stem, with_calls, without_recorder};
use super::outputs::check_outputs;
use super::profiles::write_whole;
use super::{Failure, Outcome, print};
use crate::report::traced;
use crate::trace::{Pass, SpelledPart, Spelling, Trace};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Shown below the arguments.
const BELOW: &str = "\
A trace is a recording from `hallway record`, a JSON file from the PyTorch profiler (Kineto),
plain or gzipped, or an Nsight Systems database (nsys export --type sqlite).

The result is a scenario with one program, call by call. You can change its sizes, memory, streams
and kernel times, and predict it with `hallway evaluate`. If the trace has a loop, the program is
the pass (iteration) of median duration; otherwise, it is the whole trace. Each kernel takes the
median time of the kernels with its name and grid. Between two calls, the host works for as long as
it did in the trace.";

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
    /// Import everything up to the end of the first pass once, then the pass of median duration
    /// repeatedly, until there are this many passes
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "pass"],
        value_parser = clap::value_parser!(u32).range(2..))]
    passes: Option<u32>,
    /// Give each kernel launch its own measured time instead of the median for its kind of kernel
    #[arg(long)]
    measured: bool,
    #[command(flatten)]
    uses: KernelUses,
    /// Also write the times of the trace's copies and calls to this table (.csv), which `hallway
    /// fit` turns into a profile of the machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    table: Option<PathBuf>,
}

pub(super) fn run(arguments: &ImportArguments) -> Result<Outcome, Failure> {
    let ImportArguments { trace: path, output, table, .. } = arguments;
    let outputs = output.iter().chain(table).map(PathBuf::as_path);
    check_outputs([path.as_path()], outputs)?;
    let trace = with_calls(path, &arguments.uses)?;
    let pass = trace.pass();
    let part = arguments.part(&trace, pass.as_ref())?;
    let how = Spelling {
        each_kernel: arguments.measured,
        each_call: table.is_some(),
        ..without_recorder(&trace, pass.as_ref())
    };
    let spelled = spelled(&trace, &stem(path), part, how);
    scenario(path, &spelled)?;
    eprint!("{}", traced::imported(&trace, pass.as_ref(), &spelled));
    if let Some(table) = table {
        write_whole(table, &trace.table())?;
    }
    match output {
        Some(output) => write_whole(output, &spelled.text).map(|()| Outcome::Done),
        None => print(&spelled.text),
    }
}

impl ImportArguments {
    /// What to import.
    fn part(&self, trace: &Trace, pass: Option<&Pass>) -> Result<SpelledPart, Failure> {
        let whole = SpelledPart::calls(0..trace.calls.len());
        let Some(pass) = pass.filter(|_| !self.all) else {
            return match self.pass {
                None if self.passes.is_none() => Ok(whole),
                _ => Err(Failure::refused(
                    format!("{} has no loop", self.trace.display()),
                    "leave out --pass and --passes to import all of it",
                )),
            };
        };
        if let Some(passes) = self.passes {
            return Ok(SpelledPart::passes(pass, u64::from(passes)));
        }
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
        Ok(SpelledPart::calls(from..to))
    }
}
