//! Measured runs of plans, with what is needed to score them later without a
//! GPU: the plan's identity and the calibration they belong to.
//!
//! Invariant: a run holds measurements only. No prediction is ever stored here.

use crate::files;
use crate::timeline::Timeline;
use crate::units::Span;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the file format.
const FORMAT: u32 = 1;
/// Bytes of a file of runs: a thousand times what `verify` writes of a scenario.
const LARGEST: u64 = 256 << 20;

/// One plan, run repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The strategy's name, for readers.
    pub plan: String,
    /// [`crate::plan::Plan::identity`]: what was really run.
    pub identity: String,
    /// Host time of each set-up.
    pub setups_ns: Vec<Span>,
    /// Host time of each pass over the body, after warm-up.
    pub passes_ns: Vec<Span>,
    /// That of each pass during which something else used the core of the issuing thread,
    /// if enough others could be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside_ns: Vec<Span>,
    /// Largest deviation from the CPU twins' output, relative to its largest value.
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
        self.worst_error = self.worst_error.max(other.worst_error);
    }

    /// The median pass.
    pub fn makespan(&self) -> Span {
        let passes: Vec<f64> = self.passes_ns.iter().map(|span| span.nanos_f64()).collect();
        Span::from_nanos_f64(crate::stats::median(&passes).unwrap_or(0.0))
    }

    /// Robust relative spread of the passes; one alone has none.
    pub fn spread(&self) -> Option<f64> {
        let passes: Vec<f64> = self.passes_ns.iter().map(|span| span.nanos_f64()).collect();
        crate::stats::relative_spread(&passes).filter(|_| passes.len() > 1)
    }
}

/// A pass of one plan that was timed call by call. Timing slows it: it shows
/// where time goes, and is not what predictions are scored on.
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
    pub traces: Vec<Trace>,
}

/// How to come by runs in place of some that are of no use.
const AGAIN: &str = "move it away, and make it anew with `hallway verify` without --recorded, on \
                     the profile's machine";

/// What every version of the format has.
#[derive(Deserialize)]
struct Versioned {
    hallway_runs: u32,
}

/// What can be wrong with a file of runs.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum RunsError {
    #[error("cannot read {path}: {source}")]
    #[diagnostic(help("{AGAIN}"))]
    Read { path: String, source: std::io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{path} is not a file of runs: {source}")]
    #[diagnostic(help("{AGAIN}"))]
    Parse { path: String, source: serde_json::Error },
    #[error("{path} has runs of format {found}; this hallway reads format {FORMAT}")]
    #[diagnostic(help("{AGAIN}"))]
    Format { path: String, found: u32 },
    #[error("{path}: the passes of `{plan}` are none, or no times")]
    #[diagnostic(help("{AGAIN}"))]
    Passes { path: String, plan: String },
}

impl RunSet {
    pub fn new(scenario: &str, calibration_unix_time: u64) -> Self {
        Self {
            hallway_runs: FORMAT,
            scenario: scenario.to_owned(),
            calibration_unix_time,
            runs: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// # Errors
    /// If the file cannot be read or is not a file of runs of this format, with passes in each.
    pub fn load(path: &Path) -> Result<Self, RunsError> {
        let name = path.display().to_string();
        let read = |source| RunsError::Read { path: name.clone(), source };
        let text = files::read(path, LARGEST).map_err(read)?;
        let parse = |source| RunsError::Parse { path: name.clone(), source };
        let Versioned { hallway_runs: found } = serde_json::from_str(&text).map_err(parse)?;
        if found != FORMAT {
            return Err(RunsError::Format { path: name, found });
        }
        let set: Self = serde_json::from_str(&text).map_err(parse)?;
        // Sums of longer ones would not fit into a span.
        let is_time = |pass: &Span| (1..1 << 55).contains(&pass.nanos());
        let is_run = |run: &Run| !run.passes_ns.is_empty() && run.passes_ns.iter().all(is_time);
        if let Some(run) = set.runs.iter().find(|run| !is_run(run)) {
            return Err(RunsError::Passes { path: name, plan: run.plan.clone() });
        }
        Ok(set)
    }

    /// Writes the runs so that readers see the old file or the new one, whole.
    ///
    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunsError> {
        let name = path.display().to_string();
        let write = |source| RunsError::Write { path: name.clone(), source };
        let mut text = serde_json::to_string(self).expect("runs are plain data");
        text.push('\n');
        files::write_whole(path, text.as_bytes()).map_err(write)
    }

    /// Adds a run, to those of the same plan if there are any.
    pub fn add(&mut self, run: Run) {
        match self.runs.iter_mut().find(|before| before.identity == run.identity) {
            Some(before) => before.add(run),
            None => self.runs.push(run),
        }
    }

    pub fn run_of(&self, identity: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.identity == identity)
    }

    pub fn trace_of(&self, identity: &str) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.identity == identity)
    }
}
