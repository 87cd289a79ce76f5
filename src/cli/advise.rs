//! `hallway advise`: what would help a program, and by how much.

use super::outputs::check_outputs;
use super::profiles::{LoadedProfile, deliver, load};
use super::progress::Progress;
use super::terminal::{NARROWEST, USUAL_WIDTH, width};
use super::{Failure, Format, Outcome, Predicting, import};
use crate::advise::{Remedy, Subject, advise};
use crate::program::Program;
use crate::report::{AdviceReport, json};
use crate::scenario::Workload;
use crate::trace::{self, HostTime, Spelled, SpelledMemory, Spelling, Trace};
use crate::units::Span;
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Shown below the arguments.
const BELOW: &str = "\
A remedy rewrites the program without changing its results: it pins memory, waits later, uses a
second stream, and so on. Each remedy is simulated by itself; then others are added to the best
one. If a rewritten program has a race or leaves different data, it is not shown.

For a trace, `advise` looks at the pass (iteration) of the loop with the median duration. Facts
that a trace cannot show, such as whether the host reads a result at once, are given as
conditions: see `--details`.";

/// How often the calls of a program are simulated, about: every remedy in some variants, in several
/// rounds.
const SIMULATED: u64 = 120;

#[derive(Debug, Args)]
#[command(after_help = BELOW)]
pub(super) struct AdviseArguments {
    /// Trace, recording, or scenario that contains a program
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Program of the scenario to advise on [default: the first]
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Profile of the machine to predict for, or the profile's folder [default: the newest in
    /// calibration/*/]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    profile: Option<PathBuf>,
    /// Show every remedy, its conditions, and how to write it in PyTorch, CuPy and CUDA C
    #[arg(long)]
    details: bool,
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
    subject: Subject,
    others: Vec<String>,
    recorded: Option<Span>,
    /// The GPU that it was recorded on.
    recorded_on: Option<String>,
}

pub(super) fn run(arguments: &AdviseArguments) -> Result<Outcome, Failure> {
    let predicting = Predicting {
        scenarios: vec![arguments.file.clone()],
        profile: arguments.profile.iter().cloned().collect(),
        gpu_model: None,
        seed: arguments.seed,
        draws: arguments.draws,
    };
    let found = predicting.profile()?;
    let inputs = [arguments.file.as_path(), found.path.as_path()];
    check_outputs(inputs, arguments.output.as_deref())?;
    let asked = asked(arguments)?;
    let report = answered(&predicting, &found, asked)?;
    let text = match arguments.format {
        Format::Table => {
            let width = width(arguments.width, arguments.output.as_deref());
            report.text(arguments.details, Some(width.unwrap_or(USUAL_WIDTH)))
        }
        Format::Json => json(&report),
    };
    deliver(&text, arguments.output.as_deref()).map(|()| Outcome::Done)
}

fn answered(
    predicting: &Predicting,
    found: &LoadedProfile,
    asked: Asked,
) -> Result<AdviceReport, Failure> {
    let progress = Progress::over_stages(1);
    let draws = predicting.predictor(found, &progress).draws;
    let Asked { name, subject, others, recorded, recorded_on } = asked;
    let program = subject.program.label.clone();
    let calls = subject.program.body.len() as u64;
    let drawn = (Remedy::ALL.len() + 2) * draws.count;
    progress.begin("trying remedies", calls * (SIMULATED + drawn as u64));
    let advice = advise(&subject, &found.profile, draws, progress.tally()).map_err(|error| {
        Failure::refused(
            format!("`{program}` of {name} cannot be predicted: {error}"),
            "name another profile with --profile",
        )
    })?;
    let profile = found.origin();
    let (seed, draws) = (draws.seed, draws.count);
    Ok(AdviceReport {
        profile,
        seed,
        draws,
        name,
        program,
        others,
        recorded_ns: recorded,
        recorded_on,
        advice,
    })
}

/// The program that the file has, or is a trace of.
fn asked(arguments: &AdviseArguments) -> Result<Asked, Failure> {
    let path = &arguments.file;
    if trace::is_trace(path) {
        if arguments.program.is_some() {
            return Err(Failure::refused(
                format!(
                    "--program chooses a program of a scenario, but {} is a trace",
                    path.display()
                ),
                "leave out --program",
            ));
        }
        return of_trace(path);
    }
    let workload = load(path)?;
    let others = workload.programs.iter().map(|one| one.label.clone());
    let mut others: Vec<String> = others.collect();
    let at = chosen(&workload, arguments.program.as_deref())?;
    let _ = others.remove(at);
    let program: Program = workload.programs[at].clone();
    Ok(Asked {
        name: workload.name,
        subject: Subject::spelled(program),
        others,
        recorded: None,
        recorded_on: None,
    })
}

/// The position of the program to advise on.
fn chosen(workload: &Workload, named: Option<&str>) -> Result<usize, Failure> {
    let name = &workload.name;
    if workload.programs.is_empty() {
        return Err(Failure::refused(
            format!("`{name}` has no program, only tasks"),
            "`hallway evaluate` tries every plan for its tasks; `hallway explain --program FILE` \
             writes a plan as a program",
        ));
    }
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

/// The usual pass of a trace's loop, or all of it.
fn of_trace(path: &Path) -> Result<Asked, Failure> {
    let trace = import::read_trace(path)?;
    let pass = trace.pass();
    let calls = match &pass {
        Some(pass) => pass.turns[pass.steady][0]..pass.turns[pass.steady][1],
        None => 0..trace.calls.len(),
    };
    let name = import::stem(path);
    let as_spelled = |memory| {
        let how = Spelling { memory, host: HostTime::WithoutRecorder, ..Spelling::default() };
        let spelled = trace.spelled(&name, calls.clone(), how);
        program_of(path, &name, &spelled.text).map(|program| (program, spelled))
    };
    // Where addresses seem to show a race, memory is told apart by streams alone.
    let by_address =
        trace.has_addresses().then(|| as_spelled(SpelledMemory::ByAddress).ok()).flatten();
    let addressed =
        by_address.and_then(|(program, spelled)| Some((Subject::addressed(program)?, spelled)));
    let (mut subject, spelled) = match addressed {
        Some(found) => found,
        None => {
            let (program, spelled) = as_spelled(SpelledMemory::OfStreams)?;
            (Subject::recorded(program), spelled)
        }
    };
    let recorded = spelled.recorded;
    let unchanged = pass.map(|pass| trace.unchanged_copies(&pass)).unwrap_or_default();
    subject.unchanged = by_position(&trace, &subject.program, &spelled, &unchanged);
    let recorded_on = trace.gpus.iter().find_map(|gpu| gpu.name.clone());
    Ok(Asked { name, subject, others: Vec::new(), recorded: Some(recorded), recorded_on })
}

/// What is known of calls of a trace, by the positions of the program's calls that they became.
fn by_position(
    trace: &Trace,
    program: &Program,
    spelled: &Spelled,
    of_calls: &BTreeMap<usize, bool>,
) -> BTreeMap<usize, bool> {
    let asks = program.body.iter().enumerate().filter(|(_, call)| {
        call.is_launch() || call.is_clear() || call.route().is_some() || call.works_on_cpu()
    });
    let both = asks.zip(&spelled.asked);
    let known =
        both.filter_map(|((at, _), &work)| Some((at, *of_calls.get(&trace.work[work].call?)?)));
    known.collect()
}

/// The program of a trace that was spelled out.
fn program_of(path: &Path, name: &str, text: &str) -> Result<Program, Failure> {
    let unfit = |why: String| {
        Failure::refused(
            format!("{} cannot be read as a program: {why}", path.display()),
            "`hallway explain` shows what it contains",
        )
    };
    let workload = Workload::from_toml(name, text).map_err(|error| unfit(error.to_string()))?;
    let program = workload.programs.into_iter().next();
    program.ok_or_else(|| unfit("it makes no GPU calls".to_owned()))
}
