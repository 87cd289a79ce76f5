//! What the heads of streams wait for, and which streams wait there: recordings of other streams,
//! records and waits that are entries of their own, and the legacy default stream, a barrier that
//! holds back blocking streams and is held back by them.

use super::{Head, Streams};
use crate::cost::{Entry, EntryId, NO_STREAM, NONE, Recording, Tie, Wait, WorkKind};
use crate::simulate::hand_overs::{EngineView, Start};
use crate::simulate::operation::{Cause, Ending};
use crate::timeline::Reason;
use crate::units::Instant;

impl<'p> Streams<'p> {
    /// Passes a wait of a stream's head, if what it waits for has happened.
    #[inline(always)]
    pub(super) fn pass_wait(&mut self, index: u16, wait: u32) -> bool {
        let Wait { call, ref until } = self.layout.entries.waits[wait as usize];
        let issued = self.delays.issued(call, self.compiled.body.issued(call));
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
    #[inline]
    fn queue_up(&mut self, index: u16, until: &Recording) {
        let (mut before, mut next) = (NO_STREAM, self.streams[usize::from(until.stream)].waiter);
        while next != NO_STREAM && self.streams[usize::from(next)].awaits.call < until.call {
            (before, next) = (next, self.streams[usize::from(next)].next);
        }
        let stream = &mut self.streams[usize::from(index)];
        (stream.awaits, stream.next) = (*until, next);
        match self.streams.get_mut(usize::from(before)) {
            Some(before) => before.next = index,
            None => self.streams[usize::from(until.stream)].waiter = index,
        }
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

    /// Lets a stream pass records and waits at its head, until the head is an operation that may
    /// start, and returns that operation.
    #[cold]
    #[inline]
    pub(super) fn advance_past(
        &mut self,
        index: u16,
        mut mark: &'p Entry,
    ) -> Option<(EntryId, &'p Entry)> {
        loop {
            self.pass_mark(index, mark);
            let (id, entry) = self.head(index)?;
            if let WorkKind::Operation(_) = entry.kind {
                return Some((id, entry));
            }
            mark = entry;
        }
    }

    #[inline]
    fn pass_mark(&mut self, index: u16, entry: &Entry) {
        let issued = self.issued(entry);
        let stream = &mut self.streams[usize::from(index)];
        stream.find(issued);
        let waits = &self.layout.entries.waits[stream.first_wait as usize..entry.waits as usize];
        let ending = |wait: &Wait| self.endings.get(wait.until.entry as usize);
        stream.awaited.extend(waits.iter().filter_map(ending));
        stream.first_wait = entry.waits;
        if entry.kind == WorkKind::Record {
            self.record(index, entry, issued);
        }
        let waiter = self.streams[usize::from(index)].pass_head();
        self.let_follow(index, waiter);
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

    /// Marks the streams held back at the barrier to be examined again.
    #[cold]
    #[inline]
    pub(super) fn let_go(&mut self) {
        for &other in &self.layout.barrier {
            let stream = &mut self.streams[usize::from(other)];
            if std::mem::take(&mut stream.held_back) {
                (stream.next, self.to_do) = (self.to_do, other);
            }
        }
    }

    /// Whether the head of a stream has to stay behind the barrier of the legacy default stream. If
    /// not, it has to follow what came before it across the barrier.
    #[cold]
    pub(super) fn holds_back(&mut self, index: u16) -> bool {
        let stream = &self.streams[usize::from(index)];
        let id = self.layout.entry(stream.head).call;
        if !self.delays.is_issued(id) {
            return false;
        }
        let traits = |index: usize| &self.layout.traits[index];
        let mine = traits(usize::from(index));
        let others = || {
            let others = self.layout.barrier.iter().map(|&other| usize::from(other));
            others.filter(|&other| mine.waits_for(traits(other)))
        };
        let is_earlier =
            |other: usize| self.layout.entries.list[self.streams[other].head as usize].call < id;
        let held_back = others().any(is_earlier);
        self.streams[usize::from(index)].held_back = held_back;
        if !held_back {
            for other in others() {
                let last = self.streams[other].last;
                if last.call != NONE {
                    self.streams[usize::from(index)].awaited.push(last);
                }
            }
        }
        held_back
    }
}

impl Streams<'_> {
    /// When an operation may start, given everything that it has to follow. If its engine has to
    /// find that out by polling, also from when polling periods count.
    #[inline(always)]
    pub(super) fn follow<const LISTENS: bool>(
        &mut self,
        head: &Head<'_>,
        (longer, engines): (f64, EngineView<'_>),
    ) -> (Instant, Option<Instant>) {
        let compiled = self.compiled;
        let &Head { entry, cost, kind, is_first, arrival } = head;
        let stream = &mut self.streams[usize::from(entry.stream)];
        let mut start = Start {
            compiled,
            kind,
            device: stream.device,
            engines,
            is_first,
            arrival,
            last: &stream.last,
            since: stream.queues_behind_last(kind, arrival.1).then_some(stream.started),
            time: arrival.1,
            missed: None,
            cause: Cause { reason: Reason::Issue, before: entry.call, ready: arrival.1 },
        };
        let [within, across] =
            if cost.in_graph { [Tie::Graph; 2] } else { [Tie::Stream, Tie::Event] };
        start.follow(&stream.last, within, longer, Reason::Stream);
        for event in &stream.awaited {
            start.follow(event, across, 0.0, Reason::Event);
        }
        for wait in &self.layout.entries.waits[stream.first_wait as usize..entry.waits as usize] {
            if let Some(event) = self.endings.get(wait.until.entry as usize) {
                start.follow(event, across, 0.0, Reason::Event);
            }
        }
        let Start { time, missed, cause, .. } = start;
        stream.awaited.clear();
        if LISTENS {
            stream.cause = cause;
        }
        (time, missed)
    }
}
