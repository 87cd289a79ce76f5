//! Which calls have been issued, and when.

use super::{Stream, Streams};
use crate::cost::{CallId, CompiledProgram, Entry, EntryId};
use crate::units::Instant;

impl Streams {
    #[inline]
    pub fn is_issued(&self, compiled: &CompiledProgram<'_>, id: EntryId) -> bool {
        self.delays.is_issued(compiled.body.entry(id).call)
    }

    /// When an entry was issued; it must have been.
    #[inline(always)]
    pub fn issued(&self, entry: &Entry) -> Instant {
        self.delays.issued(entry.call, entry.issued)
    }

    /// When an operation that has been issued reaches the device.
    #[inline]
    pub fn arrival(&self, compiled: &CompiledProgram<'_>, id: EntryId) -> Instant {
        let entry = compiled.body.entry(id);
        self.issued(entry) + self.cost_of(compiled, id).latency
    }

    /// Moves on to the next call before `until` that is at the head of its stream, and returns that
    /// stream.
    #[inline]
    pub fn next_issued(&mut self, compiled: &CompiledProgram<'_>, until: CallId) -> Option<u16> {
        let next = |(index, stream): (u16, &Stream)| {
            let (_, entry) = stream.head_until(compiled, until)?;
            (entry.call >= self.delays.until).then_some((entry.call, index))
        };
        let next = (0..).zip(&self.streams).filter_map(next).min();
        self.delays.until = next.map_or(until, |(call, _)| call + 1);
        next.map(|(_, stream)| stream)
    }

    /// One of several host threads issues a call now. Returns the stream that it is at the head of.
    pub fn make(
        &mut self,
        compiled: &CompiledProgram<'_>,
        call: CallId,
        now: Instant,
    ) -> Option<u16> {
        self.delays.make(call, now);
        let stream = compiled.body.calls[call as usize].stream;
        let head = self.streams.get(usize::from(stream))?.head;
        (compiled.body.entry(head).call == call).then_some(stream)
    }
}
