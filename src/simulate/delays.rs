//! How much later calls are issued than if the host never waited.

use crate::cost::CallId;
use crate::units::{Instant, Span};

/// The delays of all calls so far.
#[derive(Default)]
pub(super) struct Delays {
    /// Each delay with the first call that it applies to; it applies up to the next one in the
    /// list.
    list: Vec<(CallId, Span)>,
    /// The last delay of the list, and its first call.
    from: CallId,
    delay: Span,
}

impl Delays {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self) {
        self.list.clear();
        (self.from, self.delay) = (0, Span::ZERO);
    }

    /// From the call `from` on, which comes after all before, calls are issued `delay` later.
    #[inline]
    pub fn begin(&mut self, from: CallId, delay: Span) {
        self.list.push((from, delay));
        (self.from, self.delay) = (from, delay);
    }

    /// When a call is issued that has been reached. `time` is when it would be if the host never
    /// waited.
    #[inline(always)]
    pub fn issued(&self, call: CallId, time: Span) -> Instant {
        Instant::START + time + if call >= self.from { self.delay } else { self.before(call) }
    }

    /// The delay of an earlier call.
    #[cold]
    #[inline]
    fn before(&self, call: CallId) -> Span {
        let behind = self.list.partition_point(|&(from, _)| from <= call);
        self.list[behind - 1].1
    }
}
