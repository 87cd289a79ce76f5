//! What happened when, whether predicted or measured: one type for both.
//!
//! Invariant: spans of one lane are in order of their starts, and the makespan
//! is at least the end of every span.

mod critical;

pub use critical::{CriticalPath, PathSegment};

use crate::machine::Direction;
use crate::units::{Instant, Span, words};
use serde::{Deserialize, Serialize};

words! {
    /// A resource, shown as one row. Lanes of the same kind on several devices count as one.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Lane {
        /// The host thread that issues calls.
        Host = "host",
        /// The copy engine from host to device.
        CopyIn = "H2D",
        /// The multiprocessors.
        Kernels = "kernels",
        /// The copy engine from device to host.
        CopyOut = "D2H",
        /// The copy engine from device to device.
        PeerCopy = "P2P",
    }
}

impl Lane {
    pub const fn of(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::CopyIn,
            Direction::DeviceToHost => Self::CopyOut,
        }
    }
}

/// Something that a lane did, from start to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub lane: Lane,
    /// Position in the plan's body of the call that it belongs to.
    pub call: usize,
    pub start: Instant,
    pub end: Instant,
    /// What it waited for last, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// Why an activity did not begin, or a call did not return, any sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    pub reason: Reason,
    /// Position in the plan's body of the call that it waited for.
    pub after: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The host had to issue it; `after` is the call that did.
    Issue,
    /// The operation before it in its stream had to end.
    Stream,
    /// An operation in another stream had to end: an event says so.
    Event,
    /// Its engine was doing something else.
    Engine,
    /// The host was waiting for the device.
    Device,
    /// The host thread was waiting for another one.
    Thread,
}

/// The activities of one pass over a plan's body.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timeline {
    pub activities: Vec<Activity>,
    /// From before the first call to after the last one has returned.
    pub makespan: Span,
}

impl Timeline {
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Activity> {
        self.activities.iter().filter(move |activity| activity.lane == lane)
    }

    /// Time during which the lane does something. Activities that overlap, such as kernels that
    /// run side by side, count once.
    pub fn busy(&self, lane: Lane) -> Span {
        busy(self.lane(lane).map(|activity| (activity.start, activity.end)))
    }
}

/// Time that at least one of some stretches of time covers, each given by its start and end.
pub fn busy(stretches: impl IntoIterator<Item = (Instant, Instant)>) -> Span {
    let mut stretches: Vec<(Instant, Instant)> = stretches.into_iter().collect();
    stretches.sort_unstable();
    let (mut total, mut reached) = (Span::ZERO, Instant::START);
    for (start, end) in stretches {
        let start = start.max(reached);
        if end > start {
            total += end.since(start);
            reached = end;
        }
    }
    total
}
