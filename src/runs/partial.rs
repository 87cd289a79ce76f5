//! Runs of a scenario that are not complete yet.

use super::{RunSet, RunsError, decoded};
use crate::files;
use crate::runs::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the file format.
const FORMAT: u32 = 1;

/// The runs of a scenario so far, with what it takes to go on. It is written after every run, so
/// that whatever ends the process costs one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartialRuns {
    hallway_partial_runs: u32,
    /// The digest of the predictions that were made before the first run.
    pub predictions: String,
    /// In how many rounds each plan was run, by its identity.
    pub rounds: BTreeMap<String, usize>,
    pub set: RunSet,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `hallway_partial_runs`")]
struct Versioned {
    hallway_partial_runs: u32,
}

impl PartialRuns {
    pub fn new(predictions: &str, set: RunSet) -> Self {
        let (predictions, rounds) = (predictions.to_owned(), BTreeMap::new());
        Self { hallway_partial_runs: FORMAT, predictions, rounds, set }
    }

    /// Adds a run of one more round.
    pub fn add(&mut self, run: Run) {
        *self.rounds.entry(run.identity.clone()).or_default() += 1;
        self.set.add(run);
    }

    /// In how many rounds a plan was run.
    pub fn rounds_of(&self, identity: &str) -> usize {
        self.rounds.get(identity).copied().unwrap_or(0)
    }

    /// Reads what an interrupted process left.
    ///
    /// # Errors
    /// If the file cannot be read, or does not hold such runs.
    pub fn load(path: &Path) -> Result<Self, RunsError> {
        let name = path.display().to_string();
        let read = |source| RunsError::Read { path: name.clone(), source };
        let text = files::read(path, super::LARGEST).map_err(read)?;
        let Versioned { hallway_partial_runs: found } = decoded(&name, &text)?;
        if found != FORMAT {
            return Err(RunsError::Format { path: name, found });
        }
        let partial: Self = decoded(&name, &text)?;
        match partial.set.problem() {
            Some(problem) => Err(RunsError::Content { path: name, problem }),
            None => Ok(partial),
        }
    }

    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunsError> {
        let name = path.display().to_string();
        let text = serde_json::to_string(self).expect("runs are plain data") + "\n";
        let write = |source| RunsError::Write { path: name, source };
        files::write_whole(path, text.as_bytes()).map_err(write)
    }
}
