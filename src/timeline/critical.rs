//! The critical path: what the makespan consists of.

use super::{Activity, Cause, Lane, Reason, Timeline};
use crate::units::Span;
use std::collections::BTreeMap;

/// A piece of the makespan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSegment<'t> {
    pub activity: &'t Activity,
    /// Why it could not begin, or return, any sooner; `None` at the start of the plan.
    pub reason: Option<Reason>,
    /// Time between the end of the previous activity and the start of this one: hand-over,
    /// latency on the way to the device, or the host thread waking up.
    pub gap: Span,
    /// The part of the makespan that this activity accounts for.
    pub time: Span,
}

/// A chain of activities, first to last, each of which had to wait for the one before it.
/// With the gaps between them, their times add up to the makespan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriticalPath<'t> {
    pub segments: Vec<PathSegment<'t>>,
}

impl CriticalPath<'_> {
    /// Time on the path that a lane accounts for.
    pub fn on(&self, lane: Lane) -> Span {
        let here = self.segments.iter().filter(|segment| segment.activity.lane == lane);
        here.map(|segment| segment.time).sum()
    }

    /// Time on the path during which none of its activities runs.
    pub fn gaps(&self) -> Span {
        self.segments.iter().map(|segment| segment.gap).sum()
    }
}

impl Timeline {
    /// Follows causes back from the end. The path is empty for a timeline without causes:
    /// a measured timeline does not say why things happened.
    pub fn critical_path(&self) -> CriticalPath<'_> {
        let mut by_call: BTreeMap<(usize, bool), &Activity> = BTreeMap::new();
        for activity in &self.activities {
            by_call.insert((activity.call, activity.lane == Lane::Host), activity);
        }
        let last = self.activities.iter().max_by_key(|a| (a.end, a.lane == Lane::Host, a.call));
        let explained =
            self.activities.len() == 1 || self.activities.iter().any(|a| a.cause.is_some());
        let mut next = last.filter(|_| explained);
        let mut segments = Vec::new();
        // All of the makespan after this point is accounted for.
        let mut reached = self.makespan;
        while let Some(activity) = next {
            let start = activity.start.since_start();
            let before = activity.cause.and_then(|cause| before(&by_call, activity, cause));
            let reason = before.and(activity.cause).map(|cause| cause.reason);
            let end_before = before.map_or(Span::ZERO, |before| before.end.since_start());
            let from = match reason {
                // A call that waits counts from the end of what it waits for.
                Some(Reason::Device | Reason::Thread) => end_before,
                // The engine was busy until then, perhaps with several other operations.
                Some(Reason::Engine) => start.min(end_before),
                _ => start,
            };
            let from = from.min(reached);
            let until = end_before.min(from);
            segments.push(PathSegment {
                activity,
                reason,
                gap: from.saturating_sub(until),
                time: reached.saturating_sub(from),
            });
            (reached, next) = (until, before);
        }
        segments.reverse();
        CriticalPath { segments }
    }
}

/// The activity that another one had to wait for.
fn before<'t>(
    by_call: &BTreeMap<(usize, bool), &'t Activity>,
    activity: &Activity,
    Cause { reason, after }: Cause,
) -> Option<&'t Activity> {
    let on_host = by_call.get(&(after, true)).copied();
    let before = match reason {
        Reason::Issue | Reason::Thread => on_host,
        // An event recorded in an idle stream happens as it is issued: only the host shows it.
        _ => by_call.get(&(after, false)).copied().or(on_host),
    };
    before.filter(|before| !std::ptr::eq(*before, activity))
}
