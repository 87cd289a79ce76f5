//! When operations may start, what they had to wait for, and when they ended.

use crate::cost::{CallId, EntryId, NONE};
use crate::profile::OperationKind;
use crate::timeline::{self, Reason};
use crate::units::Instant;

/// An operation and the time at which it may start.
pub(super) type Ready = (Instant, EntryId);

/// The end of something that other operations depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub time: Instant,
    /// What ended; [`NONE`] for the start of the program.
    pub call: CallId,
    pub device: u16,
    pub kind: Option<OperationKind>,
}

impl Ending {
    pub const START: Self = Self { time: Instant::START, call: NONE, device: 0, kind: None };
}

/// An operation that an engine has completed: when it started, and what its engine did before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub entry: EntryId,
    pub started: Instant,
    pub before: EntryId,
}

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

    /// The cause as a timeline has it.
    #[inline]
    pub fn noted(self) -> Option<timeline::Cause> {
        let after = self.before as usize;
        (self.before != NONE).then_some(timeline::Cause { reason: self.reason, after })
    }
}
