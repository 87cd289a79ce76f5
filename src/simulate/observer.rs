//! What a simulation reports while it runs.

use crate::cost::{CallId, CompiledProgram, NONE, Work};
use crate::timeline::{self, Activity, Lane, Reason, Timeline};
use crate::units::{Instant, Span};

/// The last thing that an operation or call had to wait for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    pub reason: Reason,
    /// The call that caused the wait.
    pub before: CallId,
    /// The time from which there was nothing else to wait for.
    pub ready: Instant,
}

impl Cause {
    pub const START: Self = Self { reason: Reason::Issue, before: NONE, ready: Instant::START };

    #[inline]
    fn noted(self) -> Option<timeline::Cause> {
        let after = self.before as usize;
        (self.before != NONE).then_some(timeline::Cause { reason: self.reason, after })
    }
}

/// A call or an operation that has been completed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub call: CallId,
    pub start: Instant,
    pub end: Instant,
    pub cause: Cause,
}

/// Listens to a simulation. The unit type `()` ignores everything and costs nothing.
pub(super) trait Observer {
    /// Whether reports are used. If not, the engine does not work out causes.
    const LISTENS: bool;

    fn host(&mut self, done: Done);
    fn device(&mut self, compiled: &CompiledProgram<'_>, done: Done);
}

impl Observer for () {
    const LISTENS: bool = false;

    #[inline]
    fn host(&mut self, _: Done) {}
    #[inline]
    fn device(&mut self, _: &CompiledProgram<'_>, _: Done) {}
}

/// Records everything that it is told.
#[derive(Default)]
pub(super) struct Recorder {
    activities: Vec<Activity>,
}

impl Recorder {
    pub fn timeline(mut self, makespan: Span) -> Timeline {
        self.activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
        Timeline { activities: self.activities, makespan }
    }

    #[inline]
    fn note(&mut self, lane: Lane, Done { call, start, end, cause }: Done) {
        let call = call as usize;
        self.activities.push(Activity { lane, call, start, end, cause: cause.noted() });
    }
}

impl Observer for Recorder {
    const LISTENS: bool = true;

    #[inline]
    fn host(&mut self, done: Done) {
        self.note(Lane::Host, done);
    }

    #[inline]
    fn device(&mut self, compiled: &CompiledProgram<'_>, done: Done) {
        let lane = match compiled.body.cost_of(done.call).work {
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => Lane::of(direction),
            Work::Inline { .. } => Lane::CopyIn,
            Work::PeerCopy { .. } => Lane::PeerCopy,
            _ => Lane::Kernels,
        };
        self.note(lane, done);
    }
}
