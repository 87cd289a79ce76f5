//! Runs of a scenario that are not complete yet.

use super::{FORMAT, NewProcessTimes, RunSet, RunsError, loaded, saved};
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
    /// Times of plans in new processes, by the plans' identities, until their runs are all there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub new_processes: BTreeMap<String, Vec<NewProcessTimes>>,
    pub set: RunSet,
}

const TOO_LONG: &str = "`new_processes` has times that are too long";

#[derive(Deserialize)]
#[serde(expecting = "an object with `hallway_partial_runs`")]
struct Versioned {
    hallway_partial_runs: u32,
}

impl PartialRuns {
    pub fn new(predictions: &str, set: RunSet) -> Self {
        let (predictions, rounds) = (predictions.to_owned(), BTreeMap::new());
        let new_processes = BTreeMap::new();
        Self { hallway_partial_runs: FORMAT, predictions, rounds, new_processes, set }
    }

    /// Adds a run of one more round.
    pub fn add(&mut self, run: Run) {
        *self.rounds.entry(run.identity.clone()).or_default() += 1;
        self.set.add(run);
    }

    /// Adds the times of a new process.
    pub fn add_new_process(&mut self, identity: &str, times: NewProcessTimes) {
        self.new_processes.entry(identity.to_owned()).or_default().push(times);
    }

    /// How many new processes were timed for a plan.
    pub fn new_processes_of(&self, identity: &str) -> usize {
        self.new_processes.get(identity).map_or(0, Vec::len)
    }

    /// Moves the times of new processes to the runs of their plans. Those of a plan that has no run
    /// stay.
    pub fn settle_new_processes(&mut self) {
        for run in &mut self.set.runs {
            run.new_processes
                .extend(self.new_processes.remove(&run.identity).into_iter().flatten());
        }
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
        let partial: Self = loaded(path, version, |partial: &Self| &partial.set)?;
        if partial.new_processes.values().flatten().all(NewProcessTimes::are_valid) {
            return Ok(partial);
        }
        let (path, problem) = (path.display().to_string(), TOO_LONG.to_owned());
        Err(RunsError::Content { path, problem })
    }

    /// # Errors
    /// If the folder or the file cannot be written; an old file stays as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunsError> {
        saved(self, path)
    }
}
