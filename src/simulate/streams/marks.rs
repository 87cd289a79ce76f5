//! Records and waits that are entries of their own.

use super::Streams;
use crate::cost::{CompiledProgram, Entry, EntryId, Wait, WorkKind};
use crate::simulate::operation::Ending;
use crate::units::Instant;

impl Streams {
    /// Lets a stream pass such entries at its head, until the head is an operation that may start,
    /// and returns that operation.
    #[cold]
    #[inline]
    pub(super) fn advance_past<'p>(
        &mut self,
        compiled: &'p CompiledProgram<'_>,
        index: u16,
        mut mark: &'p Entry,
    ) -> Option<(EntryId, &'p Entry)> {
        loop {
            self.pass_mark(compiled, index, mark);
            let (id, entry) = self.head(compiled, index)?;
            if let WorkKind::Operation(_) = entry.kind {
                return Some((id, entry));
            }
            mark = entry;
        }
    }

    #[inline]
    fn pass_mark(&mut self, compiled: &CompiledProgram<'_>, index: u16, entry: &Entry) {
        let issued = self.issued(entry);
        let stream = &mut self.streams[usize::from(index)];
        stream.find(issued);
        let waits = &compiled.body.entries.waits[stream.first_wait as usize..entry.waits as usize];
        let ending = |wait: &Wait| self.endings.get(wait.until.entry as usize);
        stream.awaited.extend(waits.iter().filter_map(ending));
        stream.first_wait = entry.waits;
        if entry.kind == WorkKind::Record {
            self.record(index, entry, issued);
        }
        let waiter = self.streams[usize::from(index)].pass_head();
        self.let_follow(compiled, index, waiter);
    }

    /// Notes what has to be followed by those who wait for a record.
    #[inline]
    fn record(&mut self, index: u16, entry: &Entry, issued: Instant) {
        let stream = &mut self.streams[usize::from(index)];
        let mut ending = stream.last;
        if ending.time < issued {
            ending = Ending { time: issued, call: entry.call, device: stream.device, ..ending };
        }
        // Whoever waits for the record also waits for what the stream itself still has to follow.
        for other in &stream.awaited {
            if other.time > ending.time {
                ending = *other;
            }
        }
        stream.cleared = stream.cleared.max(ending.time);
        self.endings[stream.head as usize] = ending;
    }
}
