//! Reading and writing samples.

use super::error::{FORMAT, SamplesError};
use super::{Condition, Measurement, Provenance, Samples, Trial, plausible, table};
use crate::files::{self, Place};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Header {
    hallway_samples: u32,
    machine: Provenance,
}

/// The last line of a finished file. Without it, a file that was cut between two lines would be
/// taken for a smaller calibration.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end_after_lines: usize,
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

/// Writes measurements as they come.
pub struct Recorder<W: Write> {
    to: W,
    lines: usize,
}

impl<W: Write> Recorder<W> {
    /// Begins a file, with what it has already.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(to: W, samples: &Samples) -> std::io::Result<Self> {
        let mut recorder = Self { to, lines: 0 };
        recorder.line(&Header { hallway_samples: FORMAT, machine: samples.machine.clone() })?;
        samples.measurements.iter().try_for_each(|measurement| recorder.add(measurement))?;
        samples.trials.iter().try_for_each(|trial| recorder.add_trial(trial))?;
        samples.conditions.iter().try_for_each(|state| recorder.add_condition(state))?;
        Ok(recorder)
    }

    /// Goes on elsewhere: in the file that what was written so far is the beginning of.
    pub fn onto<V: Write>(self, to: V) -> Recorder<V> {
        Recorder { to, lines: self.lines }
    }

    /// Writes the last line, which says that nothing is missing.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn end(mut self) -> std::io::Result<()> {
        self.line(&End { end_after_lines: self.lines })
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

    /// Writes a line at once and whole: whatever ends the program, the lines before are there.
    fn line(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        self.lines += 1;
        self.to.flush()
    }
}

/// Bytes of samples: those of a hundred calibrations.
const LARGEST: u64 = 256 << 20;

impl Samples {
    /// Reads what a calibration wrote, or a table if the file's name ends in `.csv`.
    ///
    /// A finished file has an end mark, and is refused without it. A file that is still called as
    /// one that grows, such as `samples.partial.jsonl`, may end anywhere: a last line that was not
    /// finished is passed over, and [`Samples::is_unfinished`] says so.
    ///
    /// # Errors
    /// If the file cannot be read, ends early, has a line that is not what it should be, or has
    /// measurements twice.
    pub fn load(path: &Path) -> Result<Self, SamplesError> {
        let name = path.display().to_string();
        let file = |source| SamplesError::File { path: name.clone(), source };
        let text = files::read(path, LARGEST).map_err(file)?;
        // Spreadsheets begin a file with a byte-order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            return Self::from_table(&name, text);
        }
        let Some(first) = text.split_inclusive('\n').next() else {
            return Err(SamplesError::Empty { path: name });
        };
        let bad = |error| bad_line(&name, 1, first, &error);
        let version: Versioned = serde_json::from_str(first).map_err(bad)?;
        if version.hallway_samples != FORMAT {
            return Err(SamplesError::Format { path: name, found: version.hallway_samples });
        }
        let header: Header = serde_json::from_str(first).map_err(bad)?;
        if let Some((_, problem)) = header.machine.problem() {
            return Err(bad(serde_json::Error::custom(problem)));
        }
        let mut samples = Self::none(header.machine);
        samples.take_lines(&name, text, files::is_partial(path))?;
        Ok(samples)
    }

    /// Reads a table; `name` is what errors call it.
    ///
    /// # Errors
    /// If something in it is not as docs/reference/table.md says.
    pub fn from_table(name: &str, text: &str) -> Result<Self, SamplesError> {
        table::read(name, text)
    }

    /// Takes in all lines but the first, and looks whether they are all there and there once.
    fn take_lines(&mut self, name: &str, text: &str, may_be_cut: bool) -> Result<(), SamplesError> {
        let wrong = |problem| SamplesError::End { path: name.to_owned(), problem };
        let mut lines = text.split_inclusive('\n').enumerate().skip(1);
        let mut places = Vec::new();
        let end = loop {
            let Some((before, line)) = lines.next() else { break None };
            if let Ok(End { end_after_lines }) = serde_json::from_str(line) {
                break Some((before, end_after_lines));
            }
            let measured = self.measurements.len();
            match self.take_in(line) {
                Ok(()) if self.measurements.len() > measured => places.push(before + 1),
                Ok(()) => {}
                // Its end is missing: so is that of the file.
                Err(_) if !line.ends_with('\n') => break None,
                Err(error) => return Err(bad_line(name, before + 1, line, &error)),
            }
        };
        match end {
            None if may_be_cut => self.is_unfinished = true,
            None => return Err(wrong(files::ends_early("{\"end_after_lines\":..}"))),
            Some((before, said)) if before != said => {
                return Err(wrong(format!(
                    "its last line says that there are {said} lines before it, but there are \
                     {before}: lines are missing or duplicated"
                )));
            }
            Some(_) if lines.next().is_some() => {
                return Err(wrong("there is data after its end marker".to_owned()));
            }
            Some(_) => {}
        }
        match plausible::twice(&self.measurements) {
            Some((first, again, pairs)) => Err(SamplesError::Twice {
                path: name.to_owned(),
                first: places[first],
                again: places[again],
                pairs,
            }),
            None => Ok(()),
        }
    }

    /// Takes in what a line has: a measurement, unless it has a key that only others have.
    fn take_in(&mut self, line: &str) -> serde_json::Result<()> {
        if line.contains("\"scenario\"") {
            let trial: Trial = serde_json::from_str(line)?;
            plausible::trial(&trial).map_err(serde_json::Error::custom)?;
            self.trials.push(trial);
        } else if line.contains("\"condition\"") {
            let Moment { condition } = serde_json::from_str(line)?;
            self.conditions.push(condition);
        } else {
            let one: Measurement = serde_json::from_str(line)?;
            plausible::measurement(&one).map_err(serde_json::Error::custom)?;
            self.measurements.push(one);
        }
        Ok(())
    }
}

/// What is wrong with a line.
fn bad_line(path: &str, line: usize, text: &str, error: &serde_json::Error) -> SamplesError {
    let place = Place { line, ..Place::of_json(text, error) };
    SamplesError::Line { path: path.to_owned(), place, problem: files::json_problem(error) }
}
