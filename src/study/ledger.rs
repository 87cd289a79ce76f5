//! Recorded runs of a machine, scored with the rules that its profile follows and the filters that
//! it was fitted with.

use super::score::score;
use crate::compare::Score;
use crate::fit::{Filter, FitError, fit_without};
use crate::profile::Profile;
use crate::runs::{Run, RunSet};
use crate::samples::{Samples, Trial};
use crate::scenario::Workload;
use crate::search::{Candidates, candidates, rank_counted};
use crate::simulate::{Draws, Tally};

/// A workload, those of its plans that were run, and their runs.
#[derive(Debug, Clone)]
pub struct RecordedRuns {
    workload: Workload,
    plans: Candidates,
    runs: RunSet,
}

impl RecordedRuns {
    /// Keeps the plans of a workload that were run.
    pub fn new(workload: Workload, mut plans: Candidates, runs: RunSet) -> Self {
        plans.plans.retain(|plan| runs.run_of(&plan.identity()).is_some());
        Self { workload, plans, runs }
    }

    /// The random plans that a calibration ran, by workload. Workloads that this version cannot
    /// read are left out.
    pub fn of_trials(samples: &Samples) -> Vec<Self> {
        let by_workload = samples.trials.chunk_by(|one, next| one.scenario == next.scenario);
        let of = |(at, trials): (usize, &[Trial])| {
            let workload = Workload::from_toml("trial", &trials[0].scenario).ok()?;
            let workload = Workload { name: format!("trial {at}"), ..workload };
            let plans = candidates(&workload);
            let mut runs = RunSet::new(&workload.name, samples.machine.unix_time);
            for trial in trials {
                let Some(plan) = plans.plans.iter().find(|plan| plan.name() == trial.plan) else {
                    continue;
                };
                runs.runs.push(Run {
                    plan: trial.plan.clone(),
                    identity: plan.identity(),
                    setups_ns: Vec::new(),
                    new_processes: Vec::new(),
                    passes_ns: trial.passes.clone(),
                    beside_ns: trial.beside.clone(),
                    worst_error: 0.0,
                });
            }
            Some(Self::new(workload, plans, runs))
        };
        by_workload.enumerate().filter_map(of).collect()
    }

    /// The number of plans that were run.
    pub fn plans(&self) -> usize {
        self.plans.plans.len()
    }

    /// By how much a tally rises while these plans are predicted with these draws.
    pub fn effort(&self, draws: Draws) -> u64 {
        let calls = self.plans.plans.iter().map(|plan| plan.program.body.len() as u64);
        calls.sum::<u64>() * (draws.count as u64 + 1)
    }

    /// Predicts the plans and scores them. The profile may be that of the machine
    /// [without a rule](Profile::without).
    pub fn scored(&self, profile: &Profile, draws: Draws, done: &Tally) -> Score {
        let ranking = rank_counted(self.plans.clone(), profile, draws, done);
        score(&self.workload, &ranking, &self.runs)
    }
}

/// The profile of a machine, fitted anew to its samples without some filters of the fit. Its ranges
/// are as wide as before.
///
/// # Errors
/// If there are no samples.
pub fn refitted(profile: &Profile, samples: &Samples, off: &[Filter]) -> Result<Profile, FitError> {
    let Profile { accuracy, model_error, intervals, .. } = profile.clone();
    Ok(Profile { accuracy, model_error, intervals, ..fit_without(samples, off)? })
}
