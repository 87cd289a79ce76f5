//! What the thread that issues calls does during a pass, and for how long it is held.

use super::rounded;
use crate::program::{Program, ThreadId};
use crate::simulate::{Forecast, MainThread};
use crate::timeline::{Activity, Lane, Reason, Timeline, busy};
use crate::units::{Instant, Span};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the host thread is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostWork {
    /// Kernels on the CPU.
    Compute,
    /// Calls that leave their work to the device.
    Calls,
    /// Copying pageable memory to or from pinned memory of the driver's.
    Staging,
}

/// For how long the host thread works, and at what. Waiting for the device does not count, not even
/// inside a copy.
pub(super) struct HostTimes {
    compute: Span,
    calls: Span,
    staging: Span,
}

impl HostTimes {
    pub fn most(&self) -> HostWork {
        let kinds = [
            (self.calls, HostWork::Calls),
            (self.staging, HostWork::Staging),
            (self.compute, HostWork::Compute),
        ];
        let most = kinds.into_iter().max_by_key(|kind| kind.0);
        most.map_or(HostWork::Calls, |(_, work)| work)
    }
}

/// What a host thread works at in a pass, or all of them if none is named.
pub(super) fn host_work(program: &Program, timeline: &Timeline, of: Option<ThreadId>) -> HostTimes {
    let is_of = |call: usize| of.is_none_or(|thread| program.thread_of(call) == thread);
    let (mut compute, mut calls, mut staging) = (Vec::new(), Vec::new(), Vec::new());
    let copies = Staged::new(program, timeline);
    for activity in timeline.lane(Lane::Host).filter(|activity| is_of(activity.call)) {
        let span = (activity.start, activity.end);
        match program.body.get(activity.call) {
            Some(call) if call.only_waits() => {}
            Some(call) if call.is_host_work() => compute.push(span),
            _ if program.is_staged(activity.call) => {
                staging.push((copies.works_from(activity), activity.end));
            }
            _ => calls.push(span),
        }
    }
    // While one copy is under way, the call of the next may wait for it.
    let copies = copies.0.values().filter(|copy| is_of(copy.call));
    staging.extend(copies.map(|copy| (copy.start, copy.end)));
    HostTimes { compute: busy(compute), calls: busy(calls), staging: busy(staging) }
}

/// The copies of pageable memory, by their calls.
struct Staged<'t>(BTreeMap<usize, &'t Activity>);

impl<'t> Staged<'t> {
    fn new(program: &Program, timeline: &'t Timeline) -> Self {
        let copies = [Lane::CopyIn, Lane::CopyOut].into_iter().flat_map(|lane| timeline.lane(lane));
        let copies = copies.filter(|copy| program.is_staged(copy.call));
        Self(copies.map(|copy| (copy.call, copy)).collect())
    }

    /// From when on a call works that stages its copy. Until what is ahead of the copy is done,
    /// the call only waits.
    fn works_from(&self, call: &Activity) -> Instant {
        let waits =
            |copy: &&&Activity| copy.cause.is_some_and(|cause| cause.reason != Reason::Issue);
        let copy = self.0.get(&call.call).filter(waits);
        copy.map_or(call.start, |copy| copy.start.max(call.start).min(call.end))
    }
}

/// Whether the host does nothing but wait for the device in this activity.
pub fn is_waiting(program: &Program, activity: &Activity) -> bool {
    activity.lane == Lane::Host
        && program.body.get(activity.call).is_some_and(|call| call.only_waits())
}

/// For how long a pass holds the thread that issues its calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HostThread {
    /// The share of the pass that the thread spends inside calls. A copy of pageable memory holds
    /// it until the copy is done, and so until all that is ahead of it in its stream is done,
    /// whether or not it is called asynchronous. Synchronisations do not count.
    pub held: f64,
    /// What it does for most of that time.
    pub held_by: HeldBy,
    /// When the last call but synchronisations has returned: from then on the thread is free for
    /// other work until it wants the results.
    pub free_after_ns: Span,
}

/// What holds the host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// It computes.
    Compute,
    /// It issues calls.
    Calls,
    /// It stages copies of pageable memory.
    Staging,
    /// It waits inside copies of pageable memory for what is ahead of them.
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
        let is_of = |activity: &&Activity| program.thread_of(activity.call) == thread;
        let calls = || {
            let made = timeline.lane(Lane::Host).filter(is_of);
            made.filter(|activity| !is_waiting(program, activity))
        };
        let held = busy(calls().map(|call| (call.start, call.end)));
        let free_after = calls().map(|call| call.end).max().unwrap_or(Instant::START);
        let work = host_work(program, timeline, Some(thread));
        let copies = Staged::new(program, timeline);
        let staged = calls().filter(|call| program.is_staged(call.call));
        let waiting = busy(staged.map(|call| (call.start, copies.works_from(call))));
        let most = work.compute.max(work.calls).max(work.staging);
        let held_by = match work.most() {
            _ if waiting > most => HeldBy::WaitingCopies,
            HostWork::Compute => HeldBy::Compute,
            HostWork::Calls => HeldBy::Calls,
            HostWork::Staging => HeldBy::Staging,
        };
        Self {
            held: rounded(held.nanos_f64() / timeline.makespan.nanos_f64().max(1.0)),
            held_by,
            free_after_ns: free_after.since_start(),
        }
    }
}
