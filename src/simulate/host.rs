//! The host thread, which makes calls in order; each call has its cost.

use super::issue::Stretch;
use super::observer::{Cause, Done, Observer};
use super::operation::ItemId;
use super::program::CompiledProgram;
use crate::timeline::Reason;
use crate::units::{Instant, Span};

/// What keeps the host thread inside a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Blocked {
    No,
    /// The host waits until a stream has drained; waking up takes `wake`.
    Draining {
        stream: u16,
        wake: Span,
    },
    /// An operation still needs the host for staging.
    Staging,
    /// The call returns at a time that is known.
    Returning,
}

/// The host thread and its place in the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub next: ItemId,
    /// The place of the stretch that the next call is in, or right behind.
    stretch: usize,
    pub blocked: Blocked,
    /// When the current call was entered.
    pub entered: Instant,
    /// How far the host has got in time: to the end of the last call, or of the active part of the
    /// current one.
    pub reached: Instant,
    /// What the current call had to wait for.
    pub cause: Cause,
}

impl Host {
    /// The stretch that the next call is in, or right behind.
    pub fn stretch(&mut self, program: &CompiledProgram<'_>) -> Stretch {
        while program.stretches[self.stretch].until < self.next {
            self.stretch += 1;
        }
        program.stretches[self.stretch]
    }

    /// Enters a call that takes this much host time.
    pub fn enter(&mut self, host: Span) {
        self.entered = self.reached;
        self.reached = self.reached + host;
    }

    /// Makes the calls of a stretch.
    pub fn make<O: Observer>(
        &mut self,
        program: &CompiledProgram<'_>,
        stretch: &Stretch,
        observer: &mut O,
    ) {
        let [start, end] = stretch.times;
        let reached = self.reached + (end - start);
        while O::LISTENS && self.next < stretch.until {
            // The host made all calls of the graph with the graph's launch.
            if program.class_of(self.next).in_graph {
                self.next += 1;
            } else {
                self.enter(program.host_of(self.next));
                self.leave(observer);
            }
        }
        (self.next, self.reached) = (stretch.until, reached);
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
            stretch: 0,
            blocked: Blocked::No,
            entered: start,
            reached: start,
            cause: Cause::START,
        }
    }
}
