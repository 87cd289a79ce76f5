//! Reading and writing samples.

use super::{Condition, Measurement, Provenance, Quantity, Samples, Trial, table};
use crate::files;
use crate::kernels::Kernel;
use crate::units::Span;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// Version of the file format.
pub const FORMAT: u32 = 6;
/// Format 3 adds visits that are [`Stop::Shared`](super::Stop::Shared), and 4 what copies both ways
/// go round; they had no kernels beside them before. Formats 5 and 6 have other twins:
/// [`is_outdated`].
const EARLIEST: u32 = 2;

/// Whether it is of a twin that took longer when a file of that format was written: options came
/// upon subnormal numbers, of which some processors take a hundred cycles for each, and whoever
/// counted took a branch for each value.
fn is_outdated(quantity: &Quantity, format: u32) -> bool {
    let Quantity::Twin { variant, .. } = quantity else { return false };
    match variant.kernel {
        Kernel::BlackScholes => format < 5,
        Kernel::Histogram => format < 6,
        _ => false,
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    hallway_samples: u32,
    machine: Provenance,
}

/// What the header of every version has.
#[derive(Deserialize)]
struct Versioned {
    hallway_samples: u32,
}

/// A line that says what state the device was in.
#[derive(Serialize, Deserialize)]
struct Moment {
    condition: Condition,
}

/// What can be wrong with a file of samples.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum SamplesError {
    #[error("cannot read {path}: {source}")]
    #[diagnostic(help("give the path of what `hallway calibrate` wrote, or of a table (.csv)"))]
    File { path: String, source: std::io::Error },
    #[error("{path}:{line}: not a line of samples: {source}")]
    #[diagnostic(help("put that line right, or calibrate again; a table's name ends in .csv"))]
    Line { path: String, line: usize, source: serde_json::Error },
    #[error(
        "{path} has samples of format {found}; this hallway reads formats {EARLIEST} to \
         {FORMAT}"
    )]
    #[diagnostic(help("calibrate again, or fit them with the hallway that took them"))]
    Format { path: String, found: u32 },
    #[error("{path} is empty")]
    #[diagnostic(help("calibrate again, or give the path of other samples"))]
    Empty { path: String },
    #[error("{path}:{line}: {problem}")]
    #[diagnostic(help("`hallway fit --help` shows how a table looks"))]
    Table { path: String, line: usize, problem: String },
}

/// Writes measurements as they come.
pub struct Recorder<W: Write> {
    to: W,
}

impl<W: Write> Recorder<W> {
    /// Begins a file, with what it has already.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W, samples: &Samples) -> std::io::Result<Self> {
        let mut recorder = Self { to };
        recorder.line(&Header { hallway_samples: FORMAT, machine: samples.machine.clone() })?;
        samples.measurements.iter().try_for_each(|measurement| recorder.add(measurement))?;
        samples.trials.iter().try_for_each(|trial| recorder.add_trial(trial))?;
        samples.conditions.iter().try_for_each(|state| recorder.add_condition(state))?;
        Ok(recorder)
    }

    /// Goes on with a file.
    pub const fn after(to: W) -> Self {
        Self { to }
    }

    /// # Errors
    /// If the line cannot be written.
    pub fn add(&mut self, measurement: &Measurement) -> std::io::Result<()> {
        self.line(measurement)
    }

    /// # Errors
    /// If the line cannot be written.
    pub fn add_trial(&mut self, trial: &Trial) -> std::io::Result<()> {
        self.line(trial)
    }

    /// # Errors
    /// If the line cannot be written.
    pub fn add_condition(&mut self, condition: &Condition) -> std::io::Result<()> {
        self.line(&Moment { condition: condition.clone() })
    }

    /// In one piece, and not kept back: whatever ends the program, the lines
    /// before are there.
    fn line(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        self.to.flush()
    }
}

/// Bytes of samples: those of a hundred calibrations.
const LARGEST: u64 = 256 << 20;

impl Samples {
    /// Reads what a calibration wrote, or a table if the file's name ends in
    /// `.csv`. A last line that was never finished is what an interrupted
    /// calibration leaves: it is passed over.
    ///
    /// # Errors
    /// If the file cannot be read or a line of it is not what it should be.
    pub fn load(path: &Path) -> Result<Self, SamplesError> {
        let name = path.display().to_string();
        let file = |source| SamplesError::File { path: name.clone(), source };
        let text = files::read(path, LARGEST).map_err(file)?;
        // As spreadsheets begin a file.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            return table::read(&name, text);
        }
        let bad = |line, source| SamplesError::Line { path: name.clone(), line, source };
        let mut lines = text.split_inclusive('\n').enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(SamplesError::Empty { path: name });
        };
        let version: Versioned = serde_json::from_str(first).map_err(|source| bad(1, source))?;
        if !(EARLIEST..=FORMAT).contains(&version.hallway_samples) {
            return Err(SamplesError::Format { path: name, found: version.hallway_samples });
        }
        let header: Header = serde_json::from_str(first).map_err(|source| bad(1, source))?;
        let mut samples = Self::none(header.machine);
        for (index, line) in lines {
            let Err(source) = samples.take_in(line) else { continue };
            if line.ends_with('\n') {
                return Err(bad(index + 1, source));
            }
        }
        let before = samples.measurements.len();
        samples.measurements.retain(|one| !is_outdated(&one.quantity, version.hallway_samples));
        samples.outdated = before - samples.measurements.len();
        Ok(samples)
    }

    /// Takes in what a line has: a measurement, unless it has a key that only others have.
    fn take_in(&mut self, line: &str) -> Result<(), serde_json::Error> {
        if line.contains("\"scenario\"") {
            let trial: Trial = serde_json::from_str(line)?;
            let is_run = !trial.passes.is_empty() && trial.passes.iter().all(is_time);
            self.trials.push(is_run.then_some(trial).ok_or_else(|| wrong("`passes`"))?);
        } else if line.contains("\"condition\"") {
            let Moment { condition } = serde_json::from_str(line)?;
            self.conditions.push(condition);
        } else {
            let one: Measurement = serde_json::from_str(line)?;
            // What takes less than the clock can tell takes no time.
            let are_times = one.times.iter().all(|time| is_time(time) || *time == Span::ZERO);
            if one.count == 0 || !are_times {
                return Err(wrong("`count` and `times`"));
            }
            self.measurements.push(one);
        }
        Ok(())
    }
}

/// Of anything that a calibration waits for: less than a quarter of an hour.
fn is_time(time: &Span) -> bool {
    (1..1_000_000_000_000).contains(&time.nanos())
}

fn wrong(what: &str) -> serde_json::Error {
    serde::de::Error::custom(format!(
        "{what} should be numbers above 0, times of less than 10^12 ns"
    ))
}
