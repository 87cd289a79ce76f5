//! The host thread: it issues calls in order, and each has its cost.

use super::observer::{Cause, Done, Observer};
use super::operation::ItemId;
use super::program::Class;
use crate::timeline::Reason;
use crate::units::{Instant, Span};

/// What keeps the host thread in a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Blocked {
    No,
    /// A stream has to drain; waking up takes as long as given.
    Draining {
        stream: u16,
        wake: Span,
    },
    /// An operation still needs the host.
    Staging,
    /// The call ends at a time that is known.
    Returning,
}

/// The host thread and its place in the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub next: ItemId,
    pub blocked: Blocked,
    /// When the call that is under way was entered.
    pub entered: Instant,
    /// Up to when the host has got: the end of the last call, or of the active
    /// part of the one that is under way.
    pub reached: Instant,
    /// How far the launch of a graph has got in the meantime.
    pub launched: Instant,
    /// What the call that is under way had to follow.
    pub cause: Cause,
}

impl Host {
    /// Enters a call, or goes on to a call of the graph that is being launched; gives
    /// the time at which what it puts into a stream is issued.
    pub fn enter(&mut self, class: &Class) -> Instant {
        if class.in_graph {
            // The device gets on with the first nodes while the host goes through the
            // others.
            self.launched = self.launched + class.host;
            return self.launched;
        }
        self.entered = self.reached;
        self.launched = self.reached + class.latency;
        self.reached = self.reached + class.host;
        self.reached
    }

    /// Goes on to the next call.
    pub fn leave<O: Observer>(&mut self, observer: &mut O) {
        if O::LISTENS {
            let Self { next: item, entered: start, reached: end, cause, .. } = *self;
            observer.host(Done { item, start, end, cause });
            self.cause = Cause { reason: Reason::Issue, before: item, ready: end };
        }
        self.blocked = Blocked::No;
        self.next += 1;
    }
}

impl Default for Host {
    fn default() -> Self {
        let start = Instant::START;
        Self {
            next: 0,
            blocked: Blocked::No,
            entered: start,
            reached: start,
            launched: start,
            cause: Cause::START,
        }
    }
}
