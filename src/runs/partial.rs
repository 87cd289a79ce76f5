//! Runs of a scenario that are not complete yet.

use super::{FORMAT, RunSet, RunsError, loaded, saved};
use crate::runs::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

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
        let version = |file: Versioned| file.hallway_partial_runs;
        loaded(path, version, |partial: &Self| &partial.set)
    }

    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunsError> {
        saved(self, path)
    }
}
