//! The host thread, which makes calls in order; each call has its cost.

use super::operation::Cause;
use crate::cost::{Burst, CallId, CompiledProgram};
use crate::units::{Instant, Span};

/// What keeps the host thread inside a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Blocked {
    No,
    /// The host waits for something in its call.
    Awaiting,
    /// An operation still needs the host for staging.
    Staging,
    /// The call returns, or takes effect, at a time that is known.
    Returning,
}

/// The host thread and its place in the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub next: CallId,
    /// The place of the burst that the next call is in, or right behind.
    burst: usize,
    /// How much later than if it never waited the host makes the calls of the latest burst, and
    /// when it would be done with them if it never waited.
    late: Span,
    until: Span,
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
    /// A thread that begins with a call.
    pub fn at(next: CallId) -> Self {
        Self {
            next,
            burst: 0,
            late: Span::ZERO,
            until: Span::ZERO,
            blocked: Blocked::No,
            entered: Instant::START,
            reached: Instant::START,
            cause: Cause::START,
        }
    }

    /// The burst that the next call is in, or right behind.
    #[inline]
    pub fn burst(&mut self, compiled: &CompiledProgram<'_>) -> Burst {
        while compiled.body.bursts[self.burst].until < self.next {
            self.burst += 1;
        }
        compiled.body.bursts[self.burst]
    }

    /// Enters a call that takes this much host time.
    #[inline]
    pub fn enter(&mut self, host: Span) {
        self.entered = self.reached;
        self.reached = self.reached + host;
    }

    /// Begins the calls of a burst; returns when the host will be done with them.
    pub fn begin(&mut self, burst: &Burst) -> Instant {
        let [start, end] = burst.times;
        (self.late, self.until) = (self.reached.since_start().saturating_sub(start), end);
        self.reached + (end - start)
    }

    /// How many bytes the only host thread has let the CPU write in this pass.
    pub fn written(&self, compiled: &CompiledProgram<'_>, now: Instant) -> f64 {
        let at = now.since_start().saturating_sub(self.late);
        compiled.body.writes.written_at(at.min(self.until))
    }

    /// For which share of the time the only host thread streams through memory now.
    pub fn streams(&self, compiled: &CompiledProgram<'_>, now: Instant) -> f64 {
        let at = now.since_start().saturating_sub(self.late);
        // Behind its burst, the host waits.
        if at < self.until { compiled.body.streaming.share_at(at) } else { 0.0 }
    }

    /// For which share of the time one of several threads streams through memory in its call.
    pub fn streams_in_call(&self, compiled: &CompiledProgram<'_>, now: Instant) -> f64 {
        let call = compiled.body.structure.layout.calls.get(self.next as usize);
        let is_in_it = self.entered <= now && now < self.reached;
        let call = call.filter(|_| is_in_it);
        call.map_or(0.0, |call| compiled.body.costs[call.cost as usize].streams)
    }
}
