//! Which calls have been issued, and how much later than if the host never waited.

use crate::cost::{CallId, CompiledProgram};
use crate::units::{Instant, Span};

/// The delays of all calls so far.
pub(super) struct Delays {
    /// Each delay with the first call that it applies to; it applies up to the next one in the
    /// list.
    list: Vec<(CallId, Span)>,
    /// The first call that has not been issued, if one host thread makes all.
    pub until: CallId,
    /// If several do: when each call was issued, or [`Instant::NEVER`] if it has not been.
    made: Vec<Instant>,
}

impl Delays {
    pub fn new(compiled: &CompiledProgram<'_>) -> Self {
        let calls = if compiled.body.has_threads() {
            compiled.body.structure.layout.calls.len()
        } else {
            0
        };
        Self { list: Vec::new(), until: 0, made: vec![Instant::NEVER; calls] }
    }

    #[inline]
    pub fn is_issued(&self, call: CallId) -> bool {
        call < self.until || self.made.get(call as usize).is_some_and(|&at| at != Instant::NEVER)
    }

    /// One of several host threads issues a call.
    pub fn make(&mut self, call: CallId, now: Instant) {
        self.made[call as usize] = now;
    }

    /// From the call `from` on, which comes after all before, calls are issued `delay` later.
    #[inline]
    pub fn begin(&mut self, from: CallId, delay: Span) {
        self.list.push((from, delay));
    }

    /// When a call is issued that has been reached. `time` is when it would be if the host never
    /// waited.
    #[inline(always)]
    pub fn issued(&self, call: CallId, time: Span) -> Instant {
        let delay = match self.list.last() {
            Some(&(from, delay)) if call >= from => delay,
            _ => self.before(call),
        };
        Instant::START + time + delay
    }

    /// The delay of an earlier call.
    #[cold]
    #[inline]
    fn before(&self, call: CallId) -> Span {
        // Threads that share a program have no times of their own at which they would make calls
        // if they never waited, so each call has the time at which it was made.
        if let Some(made) = self.made.get(call as usize) {
            return made.since_start();
        }
        let behind = self.list.partition_point(|&(from, _)| from <= call);
        self.list[behind - 1].1
    }
}
