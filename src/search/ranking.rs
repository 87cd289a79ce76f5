//! The candidates in order of their predicted time, and what that says.

use super::candidates::Candidates;
use crate::plan::{Family, Plan, Refusal};
use crate::profile::{Profile, Unknown};
use crate::simulate::{Forecast, SimulateError, Tally, forecast_counted, lower_bound, setup_time};
use crate::units::Span;

/// A plan with its forecast.
#[derive(Debug, Clone)]
pub struct Ranked {
    pub plan: Plan,
    pub forecast: Forecast,
    /// Unknown where the profile has no memory management: what a pass takes
    /// does not depend on it.
    pub setup: Result<Span, Unknown>,
    /// What no schedule of the body's operations goes below.
    pub bound: Span,
}

impl Ranked {
    /// Predicted time of one pass over the body.
    pub fn makespan(&self) -> Span {
        self.forecast.makespan()
    }

    /// Set-up once and the body `runs` times, if set-up is known.
    pub fn program(&self, runs: u64) -> Option<Span> {
        Some(*self.setup.as_ref().ok()? + self.makespan() * runs)
    }

    pub fn is_cpu(&self) -> bool {
        self.plan.strategy.family == Family::Cpu
    }
}

/// All plans that could be predicted, fastest body first, and the others with
/// the reason why not.
#[derive(Debug, Clone)]
pub struct Ranking {
    pub plans: Vec<Ranked>,
    pub refused: Vec<Refusal>,
    pub unknown: Vec<(Plan, Unknown)>,
}

impl Ranking {
    pub fn winner(&self) -> Option<&Ranked> {
        self.plans.first()
    }

    pub fn best_on_cpu(&self) -> Option<&Ranked> {
        self.plans.iter().find(|ranked| ranked.is_cpu())
    }

    pub fn best_on_gpu(&self) -> Option<&Ranked> {
        self.plans.iter().find(|ranked| !ranked.is_cpu())
    }

    /// The plan that is fastest with its set-up spread over `runs` passes, if
    /// every set-up is known.
    pub fn winner_over(&self, runs: u64) -> Option<&Ranked> {
        let known = self.plans.iter().all(|ranked| ranked.setup.is_ok());
        self.plans.iter().filter(|_| known).min_by_key(|ranked| ranked.program(runs))
    }
}

impl Candidates {
    /// How many threads the CPU's plan is for, if a profile is of another number.
    pub(super) fn other_threads(&self, profile: &Profile) -> Option<usize> {
        self.cpu_threads.filter(|&threads| threads != profile.machine.cpu_threads)
    }
}

/// Predicts and ranks candidates. The same seed gives the same ranking.
pub fn rank(candidates: Candidates, profile: &Profile, draws: usize, seed: u64) -> Ranking {
    rank_counted(candidates, profile, (draws, seed), &Tally::default())
}

/// Like [`rank`]. Counts what is simulated as [`forecast_counted`] does.
pub fn rank_counted(
    candidates: Candidates,
    profile: &Profile,
    (draws, seed): (usize, u64),
    done: &Tally,
) -> Ranking {
    let other_threads = candidates.other_threads(profile);
    let mut ranking =
        Ranking { plans: Vec::new(), refused: candidates.refused, unknown: Vec::new() };
    let plans = candidates.plans;
    let forecasts = forecast_counted(&plans, profile, (draws, seed), done);
    let calibrated = profile.machine.cpu_threads;
    for (plan, forecast) in plans.into_iter().zip(forecasts) {
        if let (Some(threads), Family::Cpu) = (other_threads, plan.strategy.family) {
            let what = format!("CPU kernels on {threads} threads, only on {calibrated}");
            ranking.unknown.push((plan, Unknown { what }));
            continue;
        }
        let (setup, bound) = (setup_time(&plan, profile), lower_bound(&plan, profile));
        match forecast.and_then(|forecast| Ok((forecast, bound?))) {
            Ok((forecast, bound)) => {
                // Of the machine without scatter; what is shown is the middle of the draws.
                let bound = bound.min(forecast.makespan());
                ranking.plans.push(Ranked { plan, forecast, setup, bound });
            }
            Err(SimulateError::Unknown(unknown)) => ranking.unknown.push((plan, unknown)),
            Err(SimulateError::DoesNotFit(error)) => {
                let (strategy, reason) = (plan.strategy, error.to_string());
                ranking.refused.push(Refusal { strategy, reason, is_too_large: true });
            }
        }
    }
    ranking.plans.sort_by_key(|ranked| (ranked.makespan(), ranked.plan.strategy));
    ranking
}
