//! A trace played again: its calls and the host's time between them are given, and when everything
//! happens is simulated. What was recorded then says how far off the simulator is.

use crate::compare::Replay;
use crate::cost::CompileError;
use crate::fit::{FitError, Like, fit_like};
use crate::profile::Profile;
use crate::program::Program;
use crate::samples::{Samples, SamplesError};
use crate::scenario::{ScenarioError, Workload};
use crate::simulate::simulate;
use crate::stats::median;
use crate::timeline::{Lane, Timeline};
use crate::trace::{Spelled, Spelling, Trace};
use crate::units::Instant;
use std::collections::BTreeMap;
use std::ops::Range;

/// Why a trace cannot be played again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Table(#[from] SamplesError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error("it cannot be predicted: {0}")]
    Compile(#[from] CompileError),
    #[error("it makes no GPU calls")]
    Nothing,
}

/// The machine of a trace by the trace's own times, and what it lacks by other profiles.
///
/// # Errors
/// If the trace times neither a copy nor a call.
pub fn own_prices(trace: &Trace, likes: &[Like]) -> Result<Profile, ReplayError> {
    let samples = Samples::from_table("the trace's own times", &trace.table())?;
    Ok(fit_like(&samples, likes)?)
}

/// Plays some calls of a trace again on a machine.
///
/// # Errors
/// If the calls cannot be spelled out as a program, or the profile lacks what one of them costs.
pub fn replay(
    trace: &Trace,
    calls: Range<usize>,
    how: Spelling,
    profile: &Profile,
) -> Result<Replay, ReplayError> {
    let first = trace.begin_of(calls.start);
    let Played { spelled, program, timeline } = play(trace, calls, how, profile)?;
    let starts = starts(trace, &spelled, first, (&program, &timeline));
    Ok(Replay { recorded: spelled.recorded, simulated: timeline.makespan, starts })
}

/// Some calls of a trace as a program, with what the simulator makes of it.
pub struct Played {
    spelled: Spelled,
    pub program: Program,
    pub timeline: Timeline,
}

/// Simulates some calls of a trace on a machine.
///
/// # Errors
/// If the calls cannot be spelled out as a program, or the profile lacks what one of them costs.
pub fn play(
    trace: &Trace,
    calls: Range<usize>,
    how: Spelling,
    profile: &Profile,
) -> Result<Played, ReplayError> {
    let spelled = trace.spelled("replay", calls, how);
    let workload = Workload::from_toml("replay.toml", &spelled.text)?;
    let program = workload.programs.into_iter().next().ok_or(ReplayError::Nothing)?;
    let timeline = simulate(&program, profile)?;
    Ok(Played { spelled, program, timeline })
}

/// The median distance between simulated and recorded starts.
fn starts(
    trace: &Trace,
    spelled: &Spelled,
    first: Instant,
    (program, timeline): (&Program, &Timeline),
) -> Option<f64> {
    let mut simulated: BTreeMap<usize, Instant> = BTreeMap::new();
    for activity in timeline.activities.iter().filter(|one| one.lane != Lane::Host) {
        let start = simulated.entry(activity.call).or_insert(activity.start);
        *start = (*start).min(activity.start);
    }
    let asks = program
        .body
        .iter()
        .enumerate()
        .filter(|(_, call)| call.is_launch() || call.is_clear() || call.route().is_some());
    let both = asks.zip(&spelled.asked).filter_map(|((at, _), &work)| {
        let recorded = trace.work[work].start.since_start();
        let recorded = recorded.saturating_sub(first.since_start());
        let simulated = simulated.get(&at)?.since_start();
        Some(simulated.nanos().abs_diff(recorded.nanos()) as f64)
    });
    let distances: Vec<f64> = both.collect();
    Some(median(&distances)? / spelled.recorded.nanos_f64().max(1.0))
}
