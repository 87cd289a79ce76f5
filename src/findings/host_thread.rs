//! What the thread that issues calls does during a pass, and for how long it is held.

use super::rounded;
use crate::program::{Call, Program, ThreadId};
use crate::simulate::{Forecast, MainThread};
use crate::timeline::{Activity, Lane, Reason, Timeline, busy};
use crate::units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether the host does nothing but wait for the device in this activity.
pub fn is_waiting(program: &Program, activity: &Activity) -> bool {
    activity.lane == Lane::Host
        && program.body.get(activity.call).is_some_and(|call| call.only_waits())
}

/// How long a run blocks the thread that issues its calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostThread {
    /// Share of the run that the thread spends inside calls, not counting synchronisations. A copy
    /// of pageable memory, even an asynchronous one, blocks the thread until the copy and
    /// everything ahead of it in its stream are complete.
    pub held: f64,
    /// What the thread does for most of this time.
    pub held_by: HeldBy,
    /// When the last call other than a synchronisation has returned. From then on, the thread is
    /// free for other work until it needs the results.
    pub free_after_ns: Span,
}

/// What blocks the host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// It computes.
    Compute,
    /// It issues calls.
    Calls,
    /// It stages copies of pageable memory.
    Staging,
    /// It waits inside copies of pageable memory for earlier work in the stream.
    WaitingCopies,
}

impl HostThread {
    /// The host thread that begins and ends a pass, if there are several.
    pub(super) fn of(program: &Program, forecast: &Forecast) -> Self {
        let MainThread { held, free_after } = forecast.main_thread;
        let Self { held_by, .. } = Self::of_thread(program, &forecast.timeline, ThreadId::MAIN);
        let free_after_ns = free_after.min(forecast.makespan());
        Self { held: rounded(held), held_by, free_after_ns }
    }

    pub fn of_thread(program: &Program, timeline: &Timeline, thread: ThreadId) -> Self {
        let is_of = |one: &&Activity| program.thread_of(one.call) == thread;
        let copies = [Lane::CopyIn, Lane::CopyOut].into_iter().flat_map(|lane| timeline.lane(lane));
        let staged = copies.filter(is_of).filter(|copy| program.is_staged(copy.call));
        let staged: BTreeMap<usize, &Activity> = staged.map(|copy| (copy.call, copy)).collect();
        let calls = timeline.lane(Lane::Host).filter(is_of);
        let calls: Vec<&Activity> = calls.filter(|call| !is_waiting(program, call)).collect();
        let (mut computes, mut issues, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        // While one copy is under way, the call of the next may wait for it.
        let mut stages: Vec<_> = staged.values().map(|copy| (copy.start, copy.end)).collect();
        for call in &calls {
            if program.body.get(call.call).is_some_and(Call::is_host_work) {
                computes.push((call.start, call.end));
            } else if program.is_staged(call.call) {
                let from = stages_from(call, staged.get(&call.call).copied());
                waits.push((call.start, from));
                stages.push((from, call.end));
            } else {
                issues.push((call.start, call.end));
            }
        }
        let kinds = [
            (busy(waits), HeldBy::WaitingCopies),
            (busy(issues), HeldBy::Calls),
            (busy(stages), HeldBy::Staging),
            (busy(computes), HeldBy::Compute),
        ];
        let most = kinds.into_iter().max_by_key(|(time, _)| *time);
        let held = busy(calls.iter().map(|call| (call.start, call.end)));
        let free_after = calls.iter().map(|call| call.end).max().unwrap_or(Instant::START);
        Self {
            held: rounded(held.nanos_f64() / timeline.makespan.nanos_f64().max(1.0)),
            held_by: most.map_or(HeldBy::Calls, |(_, held_by)| held_by),
            free_after_ns: free_after.since_start(),
        }
    }
}

/// From when on a call stages its copy. Until what is ahead of the copy is done, it only waits.
fn stages_from(call: &Activity, copy: Option<&Activity>) -> Instant {
    let waits = |copy: &&Activity| copy.cause.is_some_and(|cause| cause.reason != Reason::Issue);
    copy.filter(waits).map_or(call.start, |copy| copy.start.max(call.start).min(call.end))
}
