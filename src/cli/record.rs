//! `hallway record`: runs a program with the recorder loaded into it, and writes what it did.

mod costs;
mod launch;
mod nothing;
mod parts;

use super::outputs::check_outputs;
use super::{Failure, Outcome};
use crate::record::format::Note;
use crate::trace::{RecordedProcess, Totals};
use crate::units::Bytes;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueHint};
pub(super) use costs::{MAKE_CALLS, make_calls};
use launch::{Ended, Launch, Library};
use parts::Parts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const AFTER: &str = "\
Examples:
  hallway record -- python3 train.py
  hallway record --output run.hallway --seconds 30 -- ./solver input.dat
  hallway record --range step -- python3 train.py

Exit codes: the program's own if it fails; 1 the program made no CUDA calls, or none in the range;
2 the program cannot be started; 4 CUPTI is missing or not permitted.";

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct RecordArguments {
    /// File to write the recording to [default: `<program>.hallway`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Also compute a checksum of the data in each copy, to find data that is sent twice. Takes
    /// about as long as copying the data once more
    #[arg(long)]
    digest: bool,
    /// Record each process only while one of its threads is in an NVTX range with this name.
    /// `profiler` also stands for the time between cudaProfilerStart and cudaProfilerStop
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    range: Option<String>,
    /// Record only the work of the GPUs, without calls. Has the least overhead, but the recording
    /// cannot be imported and does not show why copies are not hidden
    #[arg(long, conflicts_with_all = ["digest", "range"])]
    device_only: bool,
    /// Stop recording after this many seconds; the program continues
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Program to run, with its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM",
        value_hint = ValueHint::CommandWithArguments)]
    program: Vec<OsString>,
}

pub(super) fn run(arguments: &RecordArguments) -> Result<Outcome, Failure> {
    let (program, rest) = arguments.program.split_first().ok_or_else(|| {
        Failure::refused("no program to record", "name one: hallway record -- PROGRAM")
    })?;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(program));
    check_outputs([], [output.as_path()])?;
    let output = std::path::absolute(&output)
        .map_err(|error| Failure::unwritten(output.display(), &error))?;
    let folder = output.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::unwritten(folder.display(), &error))?;
    let library = Library::prepare()?;
    let costs = costs::measured(&library);
    let mut parts = Parts::new(&output);
    let launch = Launch {
        program,
        arguments: rest,
        library: library.path(),
        prefix: &output,
        digests: arguments.digest,
        seconds: arguments.seconds,
        costs: &costs,
        range: arguments.range.as_deref(),
        device_only: arguments.device_only,
    };
    let ended = launch.run(|since| parts.show_progress(since))?;
    parts.clear_progress();
    parts.look();
    let found = parts.processes();
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    if parts.is_empty() {
        ended.say(&name);
        return match ended.code() {
            0 => Err(nothing::unused(&name)),
            code => Ok(Outcome::Exit(code)),
        };
    }
    let bytes =
        parts.join(&output).map_err(|error| Failure::unwritten(output.display(), &error))?;
    for process in &found {
        tell_notes(process);
    }
    let shown = shown_path(&output);
    if let Some(why) = nothing::why(&found, arguments.range.as_deref()) {
        // There is nothing in it but the reason.
        let _ = std::fs::remove_file(&output);
        ended.say(&name);
        return match ended.code() {
            0 => Err(why),
            code => {
                eprintln!("hallway: {}", why.report);
                Ok(Outcome::Exit(code))
            }
        };
    }
    tell_summary(&name, &ended, &found, &shown, bytes);
    ended.say(&name);
    Ok(match ended.code() {
        0 => Outcome::Done,
        code => Outcome::Exit(code),
    })
}

/// Named after the program, in the current folder.
fn default_output(program: &OsString) -> PathBuf {
    let stem = Path::new(program).file_stem().unwrap_or("program".as_ref());
    let mut name = stem.to_owned();
    name.push(".hallway");
    name.into()
}

/// A path below the current folder is shown as users would write it.
fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.unwrap_or_else(|| path.to_owned()).display().to_string()
}

fn tell_summary(name: &str, ended: &Ended, found: &[RecordedProcess], file: &str, bytes: u64) {
    let mut all = Totals::default();
    for process in found {
        all.calls += process.totals.calls;
        all.copies += process.totals.copies;
        all.copied = all.copied.saturating_add(process.totals.copied);
        all.kernels += process.totals.kernels;
    }
    let Totals { calls, copies, copied, kernels } = all;
    let processes = match found.len() {
        1 => String::new(),
        count => format!(" in {count} processes"),
    };
    let asked = if calls == 0 { "no calls".to_owned() } else { format!("{calls} CUDA calls") };
    eprintln!(
        "Recorded {:.1} s of {name}: {asked}{processes}, {copies} copies ({}), {kernels} kernels.",
        ended.took.as_secs_f64(),
        Bytes::new(copied),
    );
    let is_cut_off = |one: &&RecordedProcess| one.cupti.is_some() && !one.has_ended;
    let unfinished = found.iter().filter(is_cut_off).count();
    if unfinished > 0 {
        eprintln!(
            "{unfinished} of {} processes did not exit normally: up to the last second of each may \
             be missing.",
            found.len()
        );
    }
    eprintln!("Wrote {file} ({}).\nNext: hallway explain {file}", Bytes::new(bytes));
}

fn tell_notes(process: &RecordedProcess) {
    for (note, text) in &process.notes {
        let meaning = match note {
            Note::NoCupti | Note::Forbidden => "not recorded",
            Note::Taken | Note::DeviceOnly => {
                "only the GPU's work was recorded, without calls or addresses"
            }
            Note::Failed => "recording ended early",
            Note::Partly => "partly recorded",
        };
        if *note == Note::DeviceOnly {
            continue;
        }
        eprintln!("hallway: process {}: {meaning}: {text}", process.id);
    }
}
