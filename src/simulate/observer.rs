//! What a simulation tells while it runs.

use super::operation::{ItemId, NONE, Work};
use super::program::Program;
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};

/// What an operation had to follow last of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The host had to issue it.
    Issue,
    /// The operation before it in its stream had to end.
    Stream,
    /// Something in another stream had to end, through an event.
    Event,
    /// Its engine had something else to do.
    Engine,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    pub reason: Reason,
    /// What came before for that reason.
    pub before: ItemId,
    /// When there was nothing else to wait for.
    pub ready: Instant,
}

impl Cause {
    pub const START: Self = Self { reason: Reason::Issue, before: NONE, ready: Instant::START };
}

/// Something that the device has done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub item: ItemId,
    pub start: Instant,
    pub end: Instant,
    pub cause: Cause,
}

/// Listens to a simulation. Nobody, `()`, costs nothing.
pub(super) trait Observer {
    /// The host was in a call from `start` to `end`.
    fn host(&mut self, item: ItemId, start: Instant, end: Instant);
    fn device(&mut self, program: &Program<'_>, done: Done);
}

impl Observer for () {
    fn host(&mut self, _: ItemId, _: Instant, _: Instant) {}
    fn device(&mut self, _: &Program<'_>, _: Done) {}
}

/// Writes everything down.
#[derive(Default)]
pub(super) struct Recorder {
    activities: Vec<Activity>,
}

impl Recorder {
    pub fn timeline(mut self, makespan: Span) -> Timeline {
        self.activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
        Timeline { activities: self.activities, makespan }
    }
}

impl Observer for Recorder {
    fn host(&mut self, item: ItemId, start: Instant, end: Instant) {
        let call = item as usize;
        self.activities.push(Activity { lane: Lane::Host, call, start, end });
    }

    fn device(&mut self, program: &Program<'_>, done: Done) {
        let lane = match program.class_of(done.item).work {
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => Lane::of(direction),
            Work::Inline { .. } => Lane::CopyIn,
            _ => Lane::Kernels,
        };
        let Done { item, start, end, .. } = done;
        self.activities.push(Activity { lane, call: item as usize, start, end });
    }
}
