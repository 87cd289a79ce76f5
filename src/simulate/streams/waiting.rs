//! What the heads of streams wait for in other streams, and which streams wait there.

use super::Streams;
use crate::cost::{CompiledProgram, NO_STREAM, NONE, Recording, Wait};
use std::ops::Range;

impl Streams {
    /// Passes a wait of a stream's head, if what it waits for has happened.
    #[inline(always)]
    pub(super) fn pass_wait(
        &mut self,
        compiled: &CompiledProgram<'_>,
        index: u16,
        wait: u32,
    ) -> bool {
        let Wait { issued, call, ref until } = compiled.body.entries.waits[wait as usize];
        let issued = self.delays.issued(call, issued);
        let mut left = issued;
        if until.entry != NONE {
            if self.streams[usize::from(until.stream)].head <= until.entry {
                self.queue_up(index, until);
                return false;
            }
            left = left.max(self.endings[until.entry as usize].time);
        }
        let stream = &mut self.streams[usize::from(index)];
        stream.find(issued);
        stream.cleared = stream.cleared.max(left);
        stream.wait = wait + 1;
        true
    }

    /// Has a stream examined when a recording is made.
    #[inline(always)]
    fn queue_up(&mut self, index: u16, until: &Recording) {
        let first = self.streams[usize::from(until.stream)].waiter;
        if first != NO_STREAM && self.streams[usize::from(first)].awaits.call < until.call {
            self.queue_up_behind(first, index, until);
            return;
        }
        let stream = &mut self.streams[usize::from(index)];
        (stream.awaits, stream.next) = (*until, first);
        self.streams[usize::from(until.stream)].waiter = index;
    }

    /// Queues a stream up for a recording when `before` waits in the list for an earlier one.
    #[cold]
    #[inline]
    fn queue_up_behind(&mut self, mut before: u16, index: u16, until: &Recording) {
        let mut next = self.streams[usize::from(before)].next;
        while next != NO_STREAM && self.streams[usize::from(next)].awaits.call < until.call {
            before = next;
            next = self.streams[usize::from(next)].next;
        }
        let stream = &mut self.streams[usize::from(index)];
        (stream.awaits, stream.next) = (*until, next);
        self.streams[usize::from(before)].next = index;
    }

    /// Passes several waits of a stream's head; returns whether all have passed.
    #[cold]
    #[inline]
    pub(super) fn pass_waits(
        &mut self,
        compiled: &CompiledProgram<'_>,
        index: u16,
        mut waits: Range<u32>,
    ) -> bool {
        waits.all(|wait| self.pass_wait(compiled, index, wait))
    }

    /// Lets the streams go on that wait for what is now over in this stream.
    #[inline(always)]
    pub(super) fn free(&mut self, index: u16, mut waiter: u16) {
        let head = self.streams[usize::from(index)].head;
        while let Some(stream) = self.streams.get_mut(usize::from(waiter))
            && stream.awaits.entry < head
        {
            let next = std::mem::replace(&mut stream.next, self.to_do);
            (self.to_do, waiter) = (waiter, next);
        }
        self.streams[usize::from(index)].waiter = waiter;
    }
}
