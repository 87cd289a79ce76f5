//! Measured runs of plans, with what it takes to score predictions later without a GPU: the
//! identity of each plan, and the calibration that the runs belong to.
//!
//! Invariant: a run holds measurements only. No prediction is ever stored here.

mod new_process;
mod partial;

pub use new_process::NewProcessTimes;
pub use partial::PartialRuns;

use crate::files::{self, Place};
use crate::stats::{median, relative_spread};
use crate::timeline::{Activity, Timeline};
use crate::units::Span;
use miette::Diagnostic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

/// Version of the file formats, of complete runs and of those that are not complete yet.
const FORMAT: u32 = 1;
/// Bytes of a file of runs: a thousand times what `verify` writes of a scenario.
const LARGEST: u64 = 256 << 20;

/// Up to this deviation, relative to the output's largest value, two results are equal:
/// they may differ in the order of floating-point additions.
pub const TOLERANCE: f32 = 1e-4;

/// One plan, run repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The name of the plan. Readers see it; the identity says what it means.
    pub plan: String,
    /// [`crate::program::Program::identity`] of the plan that ran.
    pub identity: String,
    /// Host time of each set-up.
    pub setups_ns: Vec<Span>,
    /// Host time of each pass over the body, after warm-up.
    pub passes_ns: Vec<Span>,
    /// Host time of each pass during which something else used the core of the issuing thread.
    /// Disturbed passes are kept apart if there are enough undisturbed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside_ns: Vec<Span>,
    /// Times of processes that were started for this plan alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_processes: Vec<NewProcessTimes>,
    /// Largest deviation from the output of the CPU twins, relative to the largest value there.
    pub worst_error: f64,
}

impl Run {
    /// Adds the passes of another run of the same plan.
    ///
    /// # Panics
    /// If it is of another plan.
    pub fn add(&mut self, other: Self) {
        assert_eq!(self.identity, other.identity, "runs of one plan are pooled");
        self.setups_ns.extend(other.setups_ns);
        self.passes_ns.extend(other.passes_ns);
        self.beside_ns.extend(other.beside_ns);
        self.new_processes.extend(other.new_processes);
        self.worst_error = self.worst_error.max(other.worst_error);
    }

    fn passes(&self) -> Vec<f64> {
        self.passes_ns.iter().map(|span| span.nanos_f64()).collect()
    }

    /// The median pass.
    pub fn makespan(&self) -> Span {
        Span::from_nanos_f64(median(&self.passes()).unwrap_or(0.0))
    }

    /// Robust relative spread of the passes; `None` for a single pass.
    pub fn spread(&self) -> Option<f64> {
        relative_spread(&self.passes()).filter(|_| self.passes_ns.len() > 1)
    }
}

/// A pass of a plan that was timed call by call. The timing slows it down, so a trace shows where
/// time goes, and predictions are not scored on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    pub identity: String,
    pub timeline: Timeline,
}

/// All runs of one scenario in one sitting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSet {
    pub hallway_runs: u32,
    pub scenario: String,
    /// Start of the calibration that these runs belong to, as in its profile.
    pub calibration_unix_time: u64,
    pub runs: Vec<Run>,
    /// Runs of the plan to choose and of the one that was the fastest, in turn, after all others.
    /// The fastest of many runs was lucky, too: which of the two plans is faster is told by runs
    /// that did not choose between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<Run>,
    pub traces: Vec<Trace>,
}

/// How to get runs in place of some that cannot be used.
const AGAIN: &str = "move the file out of the way and run `hallway verify` on the profile's \
                     machine, without --recorded";

/// What every version of the format has.
#[derive(Deserialize)]
#[serde(expecting = "an object with `hallway_runs`")]
struct Versioned {
    hallway_runs: u32,
}

/// What can be wrong with a file of runs.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path}:{place}: not a runs file: {problem}")]
    Parse { path: String, place: Place, problem: String },
    #[error("{path} is incomplete: it ends at {place}")]
    EndsEarly { path: String, place: Place },
    #[error("{path} has format {found}, but this version of hallway reads format {FORMAT}")]
    Format { path: String, found: u32 },
    #[error("{path}: {problem}")]
    Content { path: String, problem: String },
}

impl Diagnostic for RunsError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Write { .. } => None,
            _ => Some(Box::new(AGAIN)),
        }
    }
}

impl RunSet {
    pub fn new(scenario: &str, calibration_unix_time: u64) -> Self {
        Self {
            hallway_runs: FORMAT,
            scenario: scenario.to_owned(),
            calibration_unix_time,
            runs: Vec::new(),
            reruns: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// Reads the runs of a scenario.
    ///
    /// # Errors
    /// If the file cannot be read, is not a file of runs of this format, or has a run that cannot
    /// have been one.
    pub fn load(path: &Path) -> Result<Self, RunsError> {
        loaded(path, |file: Versioned| file.hallway_runs, |set| set)
    }

    /// What is wrong with runs whose every value is of the right type.
    fn problem(&self) -> Option<String> {
        // Files are named after the scenario.
        if let Some(problem) = files::name_problem(&self.scenario) {
            return Some(format!("the name of the scenario {problem}"));
        }
        // Sums of longer ones would not fit into a span.
        let is_time = |pass: &Span| (1..1 << 55).contains(&pass.nanos());
        let is_stretch =
            |one: &Activity| one.start <= one.end && one.end.since_start().nanos() < 1 << 55;
        let timelines = self.traces.iter().map(|trace| &trace.timeline);
        if !timelines.flat_map(|timeline| &timeline.activities).all(is_stretch) {
            return Some(
                "an activity in `traces` ends before it starts, or does not end".to_owned(),
            );
        }
        let mut seen = BTreeSet::new();
        let runs = self.runs.iter().map(|run| (run, false));
        let reruns = self.reruns.iter().map(|run| (run, true));
        runs.chain(reruns).find_map(|(run, is_again)| {
            let Run { plan, passes_ns, new_processes, worst_error, .. } = run;
            if passes_ns.is_empty() || !passes_ns.iter().all(is_time) {
                return Some(format!("the run of `{plan}` has no valid times"));
            }
            if !new_processes.iter().all(NewProcessTimes::are_valid) {
                return Some(format!("`new_processes` of `{plan}` has times that are too long"));
            }
            if !(0.0..=f64::from(TOLERANCE)).contains(worst_error) {
                return Some(format!(
                    "`worst_error` of `{plan}` is {worst_error}, but must be 0 to {TOLERANCE}: \
                     its output was wrong, or the file was edited"
                ));
            }
            let is_new = seen.insert((&run.identity, is_again));
            (!is_new).then(|| format!("there are two runs of `{plan}`"))
        })
    }

    /// Writes the runs so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunsError> {
        saved(self, path)
    }

    /// Adds a run, to those of the same plan if there are any.
    pub fn add(&mut self, run: Run) {
        match self.runs.iter_mut().find(|before| before.identity == run.identity) {
            Some(before) => before.add(run),
            None => self.runs.push(run),
        }
    }

    /// Adds the runs of other plans of the scenario, which another process ran.
    ///
    /// # Errors
    /// In words, if the runs do not belong together.
    pub fn merge(&mut self, other: Self) -> Result<(), String> {
        if self.scenario != other.scenario {
            return Err(format!(
                "they are for different scenarios, `{}` and `{}`",
                self.scenario, other.scenario
            ));
        }
        if self.calibration_unix_time != other.calibration_unix_time {
            return Err("they belong to different calibrations".to_owned());
        }
        if let Some(twice) = other.runs.iter().find(|run| self.run_of(&run.identity).is_some()) {
            return Err(format!("both contain a run of `{}`", twice.plan));
        }
        self.runs.extend(other.runs);
        self.reruns.extend(other.reruns);
        self.traces.extend(other.traces);
        self.sort();
        Ok(())
    }

    /// Puts plans in the order of their names: in which order they ran, or in which processes,
    /// leaves no mark.
    pub fn sort(&mut self) {
        for runs in [&mut self.runs, &mut self.reruns] {
            runs.sort_by(|one, other| {
                (&one.plan, &one.identity).cmp(&(&other.plan, &other.identity))
            });
        }
        self.traces.sort_by(|one, other| one.identity.cmp(&other.identity));
    }

    pub fn run_of(&self, identity: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.identity == identity)
    }

    pub fn trace_of(&self, identity: &str) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.identity == identity)
    }
}

/// Reads a file of runs, complete or not: `version` finds the number of its format in what every
/// version has, and `set` the runs.
fn loaded<V: DeserializeOwned, T: DeserializeOwned>(
    path: &Path,
    version: fn(V) -> u32,
    set: fn(&T) -> &RunSet,
) -> Result<T, RunsError> {
    let name = path.display().to_string();
    let read = |source| RunsError::Read { path: name.clone(), source };
    let text = files::read(path, LARGEST).map_err(read)?;
    let found = version(decoded(&name, &text)?);
    if found != FORMAT {
        return Err(RunsError::Format { path: name, found });
    }
    let runs: T = decoded(&name, &text)?;
    match set(&runs).problem() {
        Some(problem) => Err(RunsError::Content { path: name, problem }),
        None => Ok(runs),
    }
}

fn saved(runs: &impl Serialize, path: &Path) -> Result<(), RunsError> {
    let text = serde_json::to_string(runs).expect("runs are plain data") + "\n";
    let write = |source| RunsError::Write { path: path.display().to_string(), source };
    files::write_whole(path, text.as_bytes()).map_err(write)
}

/// What a text has, or where it stops making sense.
fn decoded<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, RunsError> {
    serde_json::from_str(text).map_err(|error| {
        let (place, path) = (Place::of_json(text, &error), path.to_owned());
        if error.is_eof() {
            return RunsError::EndsEarly { path, place };
        }
        RunsError::Parse { path, place, problem: files::json_problem(&error) }
    })
}
