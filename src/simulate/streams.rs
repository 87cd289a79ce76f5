//! Stream order and events.
//!
//! A stream is a FIFO: an operation is at its head once the one before it has ended. `start` works
//! out when the head may start.
//!
//! The host runs ahead of the device in simulated time until it has to wait, so a stream may hold
//! work that is issued later than now. Whatever depends on the time of issue compares times, and
//! never asks what is in the queue.

mod barrier;
mod following;
mod marks;
mod polling;
mod waiting;

use super::copies::{Copies, PEER_ENGINE};
use super::entries::{Entry, EntryId, Recording};
use super::issue::Delays;
use super::observer::{Cause, Observer};
use super::operation::{Ending, ItemId, NONE};
use super::processors::Processors;
use super::program::{Class, CompiledProgram, Sort};
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::Instant;
use following::Behind;

/// The index of no stream.
pub(super) const NOBODY: u16 = u16::MAX;

struct Stream {
    /// The entry at the stream's head, as an index of all entries.
    head: EntryId,
    /// Among the entries from `passed` on and before `launched`, `held` are kernels that were
    /// launched and that the head has not passed, as of the last time this was asked.
    passed: EntryId,
    launched: EntryId,
    held: u32,
    /// The first wait of the head, or of what comes next, and the next wait to pass.
    first_wait: u32,
    wait: u32,
    device: u16,
    /// Whether the head is behind the barrier of the legacy default stream.
    held_back: bool,
    /// Kinds of operations that were issued since the stream was last empty.
    seen: [bool; OperationKind::COUNT],
    /// The kind of the head, once it has been given to its engine.
    kind: OperationKind,
    /// When the stream's last entry so far was over.
    cleared: Instant,
    /// The end of the last operation here; `started` is its start.
    last: Ending,
    started: Instant,
    /// If the engine of the head has to find out by polling: from when periods count, and whether
    /// the engine was busy with the operation before the head in this stream when the head arrived.
    looked_for: (Instant, bool),
    /// What the next operation has to follow besides: what records and waits before it waited for.
    awaited: Vec<Ending>,
    /// The first stream whose head waits for something here. They are in order of what they wait
    /// for; of those that wait for the same thing, the latest comes first.
    waiter: u16,
    /// The recording in another stream that the head waits for. `next` links this stream into the
    /// list of those that wait there, or of those that may go on.
    awaits: Recording,
    next: u16,
    /// Why the operation at the head could not start before it was ready, and when it was ready.
    cause: Cause,
}

/// All streams. What is done for every operation is `inline(always)` here and in `start`: a call,
/// with what it saves and restores, would cost as much as the work itself. What most operations do
/// not reach is `cold`, which leaves the registers to the rest.
#[derive(Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    pub delays: Delays,
    /// The end of each entry that is over.
    endings: Vec<Ending>,
    /// For each entry, whether its data travelled along with its command; empty if no copy can.
    inline: Vec<bool>,
    /// The first call that has not been issued.
    until: ItemId,
    /// The first stream in the list of those that may go on; the latest comes first.
    to_do: u16,
    /// Whether a stream had nothing more to do among what has been issued.
    pub ran_dry: bool,
}

/// What is under way on the device. Commands share the link with copies; and where hand-overs have
/// prices, a busy engine takes over for nothing.
#[derive(Clone, Copy)]
pub(super) struct Engines<'e> {
    pub now: Instant,
    pub copies: &'e Copies,
    pub processors: &'e Processors,
}

impl Engines<'_> {
    /// Whether an engine is busy. This is asked only where a hand-over has a price.
    #[cold]
    pub fn are_busy(&self, device: usize, kind: OperationKind) -> bool {
        if kind == OperationKind::Kernel {
            return self.processors.is_busy(device);
        }
        // Kinds of copies are in the order of their engines.
        self.copies.is_busy(device, (kind as usize).min(PEER_ENGINE))
    }
}

/// An operation and the time at which it may start.
pub(super) type Ready = (Instant, EntryId);

/// The operation at the head of a stream, and when it may start.
pub(super) struct Next<'p> {
    pub time: Instant,
    pub class: &'p Class,
    /// Whether the engine has to find out by polling that the operation may start.
    pub is_missed: bool,
}

impl Streams {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self, program: &CompiledProgram<'_>) {
        self.delays.reset();
        // Every ending is written before it is read, so old ones need no clearing.
        self.endings.resize(program.entries.list.len(), Ending::START);
        self.inline.clear();
        if program.classes.iter().any(|class| class.may_go_inline) {
            self.inline.resize(program.entries.list.len(), false);
        }
        (self.until, self.to_do, self.ran_dry) = (0, NOBODY, false);
        let waits = |start: EntryId| match start.checked_sub(1) {
            Some(before) => program.entries.list[before as usize].waits,
            None => 0,
        };
        self.streams.clear();
        let starts = program.entries.starts.iter().zip(&program.traits);
        self.streams.extend(starts.map(|(&start, traits)| Stream {
            head: start,
            launched: start,
            passed: start,
            held: 0,
            first_wait: waits(start),
            wait: waits(start),
            device: traits.device.0 as u16,
            held_back: false,
            seen: [false; OperationKind::COUNT],
            kind: OperationKind::Kernel,
            cleared: Instant::START,
            last: Ending::START,
            started: Instant::START,
            looked_for: (Instant::START, false),
            awaited: Vec::new(),
            waiter: NOBODY,
            awaits: Recording::NEVER,
            next: NOBODY,
            cause: Cause::START,
        }));
    }

    pub fn is_drained(&self, program: &CompiledProgram<'_>, stream: u16) -> bool {
        self.streams[usize::from(stream)].head_until(program, self.until).is_none()
    }

    /// Makes the data of the operation issued next to a drained stream travel along with its
    /// command.
    pub fn go_inline(&mut self, stream: u16) {
        let next = self.streams[usize::from(stream)].head;
        self.inline[next as usize] = true;
    }

    /// Whether an operation's data travelled along with its command.
    pub fn is_inline<const PLAIN: bool>(&self, id: EntryId) -> bool {
        !PLAIN && self.inline.get(id as usize) == Some(&true)
    }

    /// Whether an entry of a stream has ended, and so all entries before it.
    pub fn is_over(&self, stream: u16, id: EntryId) -> bool {
        self.streams[usize::from(stream)].head > id
    }

    pub fn is_issued(&self, program: &CompiledProgram<'_>, id: EntryId) -> bool {
        program.entries.list[id as usize].item < self.until
    }

    pub fn class_of<'p, const PLAIN: bool>(
        &self,
        program: &'p CompiledProgram<'_>,
        id: EntryId,
    ) -> &'p Class {
        let entry = &program.entries.list[id as usize];
        &program.classes[entry.class as usize + usize::from(self.is_inline::<PLAIN>(id))]
    }

    /// When an entry was issued; it must have been.
    pub fn issued(&self, entry: &Entry) -> Instant {
        self.delays.issued(entry.item, entry.issued)
    }

    /// When an operation that has been issued reaches the device.
    pub fn arrival(&self, program: &CompiledProgram<'_>, id: EntryId) -> Instant {
        let entry = &program.entries.list[id as usize];
        self.issued(entry) + self.class_of::<false>(program, id).latency
    }

    /// The kind of an operation.
    pub fn kind_of(&self, entry: &Entry, id: EntryId) -> OperationKind {
        entry.kind(self.is_inline::<false>(id))
    }

    /// Why the operation at the head of a stream was not ready earlier.
    pub fn cause(&self, program: &CompiledProgram<'_>, stream: u16) -> Cause {
        let cause = self.streams[usize::from(stream)].cause;
        let is_record = |id: ItemId| program.items[id as usize].sort == Sort::Record;
        let is_call =
            cause.before != NONE && (cause.reason == Reason::Issue || is_record(cause.before));
        if !is_call {
            return cause;
        }
        Cause { before: program.issued_by(cause.before), ..cause }
    }

    /// From when polling periods for the head of a stream count, and whether its engine was busy
    /// with the operation before the head in this stream when the head arrived.
    pub fn looked_for(&self, stream: u16) -> (Instant, bool) {
        self.streams[usize::from(stream)].looked_for
    }

    /// When the stream's last entry so far was over.
    pub fn cleared(&self, stream: u16) -> Instant {
        self.streams[usize::from(stream)].cleared
    }

    /// Since when the host has been staging the copy at the head of its stream. In a row of H2D
    /// copies, it stages one into other buffers while the last part of the copy before is still
    /// under way. On an H200, of twelve copies of 1 MB in a row each took 55 us, while one alone
    /// took 57 us until it returned and 19 us from then on.
    pub fn staged_since(
        &self,
        program: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
        now: Instant,
    ) -> Instant {
        let arrival = self.arrival(program, id);
        let stream = &self.streams[usize::from(entry.stream)];
        let kind = entry.kind(false);
        // Everything else that it had to wait for was over by then.
        let is_next = stream.last.time == now && stream.is_behind_its_like(kind, arrival);
        if is_next && kind == OperationKind::CopyIn { arrival } else { now }
    }

    /// Notes that the engine took until `now` to find out that the head may go on.
    pub fn found(&mut self, stream: u16, now: Instant) {
        self.streams[usize::from(stream)].cause.ready = now;
    }

    /// Moves on to the next call before `until` that is at the head of its stream, and returns that
    /// stream.
    pub fn next_issued(&mut self, program: &CompiledProgram<'_>, until: ItemId) -> Option<u16> {
        let next = |(index, stream): (u16, &Stream)| {
            let (_, entry) = stream.head_until(program, until)?;
            (entry.item >= self.until).then_some((entry.item, index))
        };
        let next = (0..).zip(&self.streams).filter_map(next).min();
        self.until = next.map_or(until, |(item, _)| item + 1);
        next.map(|(_, stream)| stream)
    }

    /// The operation at the head of a stream has ended.
    #[inline(always)]
    pub fn end<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        entry: &Entry,
        (started, time): (Instant, Instant),
    ) -> OperationKind {
        let stream = &mut self.streams[usize::from(entry.stream)];
        let &mut Stream { kind, device, head, .. } = stream;
        let ending = Ending { time, item: entry.item, device, kind: Some(kind) };
        (stream.cleared, stream.last, stream.started) = (time, ending, started);
        self.endings[head as usize] = ending;
        let waiter = stream.pass_head();
        self.let_follow::<PLAIN>(program, entry.stream, waiter);
        kind
    }

    /// Marks the streams that waited for an entry to be looked at, when that entry is over.
    #[inline(always)]
    fn let_follow<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        index: u16,
        waiter: u16,
    ) {
        if waiter != NOBODY {
            self.free(index, waiter);
        }
        if !PLAIN && !program.barrier.is_empty() {
            self.let_go(program);
        }
    }

    /// Takes out a stream that may go on because another one did.
    pub fn freed(&mut self) -> Option<u16> {
        let first = self.to_do;
        self.to_do = self.streams.get(usize::from(first))?.next;
        Some(first)
    }

    /// Lets a stream go on until its head is an operation that may start, and returns that
    /// operation.
    #[inline(always)]
    pub fn advance<'p, const PLAIN: bool>(
        &mut self,
        program: &'p CompiledProgram<'_>,
        index: u16,
    ) -> Option<(EntryId, &'p Entry)> {
        let (id, entry) = self.head::<PLAIN>(program, index)?;
        match entry.sort {
            Sort::Operation(_) => Some((id, entry)),
            _ if PLAIN => unreachable!("a plain program has no marks"),
            _ => self.advance_past(program, index, entry),
        }
    }

    /// The head of a stream, if nothing is in its way.
    #[inline(always)]
    fn head<'p, const PLAIN: bool>(
        &mut self,
        program: &'p CompiledProgram<'_>,
        index: u16,
    ) -> Option<(EntryId, &'p Entry)> {
        if !PLAIN && !program.barrier.is_empty() && self.holds_back(program, index) {
            return None;
        }
        let stream = &self.streams[usize::from(index)];
        let Some((id, entry)) = stream.head_until(program, self.until) else {
            self.ran_dry = true;
            return None;
        };
        let (first, end) = (stream.wait, entry.waits);
        let is_free = first == end
            || self.pass_wait(program, index, first)
                && (first + 1 == end || self.pass_waits(program, index, first + 1..end));
        is_free.then_some((id, entry))
    }

    /// Starts the operation at the head of a stream.
    #[inline(always)]
    pub fn start<'p, O: Observer, const PLAIN: bool>(
        &mut self,
        program: &'p CompiledProgram<'_>,
        (id, entry): (EntryId, &'p Entry),
        engines: Engines<'_>,
    ) -> Next<'p> {
        let is_inline = self.is_inline::<PLAIN>(id);
        let class = &program.classes[entry.class as usize + usize::from(is_inline)];
        let kind = entry.kind(is_inline);
        let index = entry.stream;
        let issued = self.issued(entry);
        let arrival = (issued, issued + class.latency);
        let polls = kind == OperationKind::Kernel && !class.in_graph;
        let polling = if !PLAIN && program.launching.len() > 1 && polls {
            self.polling(program, index, engines)
        } else {
            0.0
        };
        let stream = &mut self.streams[usize::from(index)];
        stream.find(issued);
        let is_first = !std::mem::replace(&mut stream.seen[kind as usize], true);
        let behind = Behind { entry, class, kind, is_first, arrival };
        let (time, missed) = if !PLAIN {
            self.follow::<O>(program, &behind, (polling, engines))
        } else if program.takes_time[kind as usize] != [false; 3] {
            self.follow_at_a_price::<O>(program, &behind, engines)
        } else {
            (self.follow_at_once(program, &behind), None)
        };
        let stream = &mut self.streams[usize::from(index)];
        (stream.first_wait, stream.kind) = (entry.waits, kind);
        if let Some(from) = missed {
            stream.looked_for = (from, stream.is_behind_its_like(kind, arrival.1));
        }
        Next { time, class, is_missed: missed.is_some() }
    }
}

impl Stream {
    /// Whether an operation of this kind, arriving at this time, finds its engine busy with the
    /// operation before it in this stream.
    fn is_behind_its_like(&self, kind: OperationKind, arrival: Instant) -> bool {
        self.last.kind == Some(kind) && self.last.time > arrival
    }

    /// Moves on to the next entry; returns the first stream that waits for something here.
    fn pass_head(&mut self) -> u16 {
        self.head += 1;
        self.waiter
    }

    /// Something was issued to the stream: if that was empty, no kinds have been seen since.
    fn find(&mut self, issued: Instant) {
        if issued >= self.cleared {
            self.seen = [false; OperationKind::COUNT];
        }
    }

    /// The head, if it is issued before the call `until`.
    fn head_until<'p>(
        &self,
        program: &'p CompiledProgram<'_>,
        until: ItemId,
    ) -> Option<(EntryId, &'p Entry)> {
        let entry = &program.entries.list[self.head as usize];
        (entry.item < until).then_some((self.head, entry))
    }
}
