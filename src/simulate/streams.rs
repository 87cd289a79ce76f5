//! Stream order and events.
//!
//! A stream is a FIFO: an operation is at its head once the one before it has
//! ended. When it may start then is worked out in `start`.
//!
//! The host runs ahead of the device in simulated time until it has to wait,
//! so a stream may hold what is issued later than now. Whatever depends on
//! that compares times and never asks what is in the queue.

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
use super::program::{Class, Program, Sort};
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::Instant;
use following::Behind;

/// No stream.
pub(super) const NOBODY: u16 = u16::MAX;

struct Stream {
    /// Among all entries.
    head: EntryId,
    /// Of the entries from `passed` on and before `launched`, so many are kernels: launched,
    /// and the head has not gone by them. As of when that was asked last.
    passed: EntryId,
    launched: EntryId,
    held: u32,
    /// The first wait of the head, or of what follows it, and the next to pass.
    first_wait: u32,
    wait: u32,
    device: u16,
    /// The head is behind the barrier of the legacy default stream.
    held_back: bool,
    /// Kinds of operations that were issued since the stream was last empty.
    seen: [bool; OperationKind::COUNT],
    /// What the head is, if it has been given to its engine.
    kind: OperationKind,
    /// When the last one left.
    cleared: Instant,
    /// The end of the last operation here, and its start.
    last: Ending,
    started: Instant,
    /// If the engine of the head has to find out: from when it looks for it in periods, and
    /// whether it was busy with what is before it here as it arrived.
    looked_for: (Instant, bool),
    /// What the next operation must follow besides: what entries before it waited for.
    awaited: Vec<Ending>,
    /// The first stream whose head waits for something here: in order of what they wait
    /// for, and of those that wait for the same, the last to come is the first.
    waiter: u16,
    /// What this one's head waits for elsewhere, and the next stream in the list that it is
    /// in for that, or because it may go on.
    awaits: Recording,
    next: u16,
    /// Why the running operation could not start before it was ready, and when
    /// that was.
    cause: Cause,
}

/// All streams. What is done for each operation is `inline(always)` here and in
/// `start`: a call, with what it saves and restores, costs as much as it does. What most
/// operations do not come to is `cold`: it leaves the registers to the others.
#[derive(Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    pub delays: Delays,
    /// The end of each entry that is over.
    endings: Vec<Ending>,
    /// Whether each entry's data went along with its command; empty where none may.
    inline: Vec<bool>,
    /// What was issued are the calls before this one.
    until: ItemId,
    /// The first stream in the list of those that may go on, the last to come first.
    to_do: u16,
    /// A stream had nothing more to do, as far as is issued.
    pub ran_dry: bool,
}

/// What is under way: what commands share the link with, and, where hand-overs have prices,
/// who takes over for nothing.
#[derive(Clone, Copy)]
pub(super) struct Engines<'e> {
    pub now: Instant,
    pub copies: &'e Copies,
    pub processors: &'e Processors,
}

impl Engines<'_> {
    /// Only asked where a hand-over has a price.
    #[cold]
    pub fn are_busy(&self, device: usize, kind: OperationKind) -> bool {
        if kind == OperationKind::Kernel {
            return self.processors.is_busy(device);
        }
        // Kinds of copies are in the order of their engines.
        self.copies.is_busy(device, (kind as usize).min(PEER_ENGINE))
    }
}

/// An operation that may start at a time.
pub(super) type Ready = (Instant, EntryId);

/// The operation at the head of a stream, which may start at a time.
pub(super) struct Next<'p> {
    pub time: Instant,
    pub class: &'p Class,
    /// Its engine has to find out.
    pub is_missed: bool,
}

impl Streams {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        self.delays.reset();
        // All of these are written before they are read.
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

    pub fn is_drained(&self, program: &Program<'_>, stream: u16) -> bool {
        self.streams[usize::from(stream)].head_until(program, self.until).is_none()
    }

    /// The data of what is issued next to a drained stream goes along with its command.
    pub fn go_inline(&mut self, stream: u16) {
        let next = self.streams[usize::from(stream)].head;
        self.inline[next as usize] = true;
    }

    /// Whether something's data went along with its command.
    pub fn is_inline<const PLAIN: bool>(&self, id: EntryId) -> bool {
        !PLAIN && self.inline.get(id as usize) == Some(&true)
    }

    /// Whether an entry of a stream has ended, and all before it.
    pub fn is_over(&self, stream: u16, id: EntryId) -> bool {
        self.streams[usize::from(stream)].head > id
    }

    pub fn is_issued(&self, program: &Program<'_>, id: EntryId) -> bool {
        program.entries.list[id as usize].item < self.until
    }

    pub fn class_of<'p, const PLAIN: bool>(
        &self,
        program: &'p Program<'_>,
        id: EntryId,
    ) -> &'p Class {
        let entry = &program.entries.list[id as usize];
        &program.classes[entry.class as usize + usize::from(self.is_inline::<PLAIN>(id))]
    }

    /// When something is issued that is known to be.
    pub fn issued(&self, entry: &Entry) -> Instant {
        self.delays.issued(entry.item, entry.issued)
    }

    /// When something reaches the device that has been issued.
    pub fn arrival(&self, program: &Program<'_>, id: EntryId) -> Instant {
        let entry = &program.entries.list[id as usize];
        self.issued(entry) + self.class_of::<false>(program, id).latency
    }

    /// The kind of an operation.
    pub fn kind_of(&self, entry: &Entry, id: EntryId) -> OperationKind {
        entry.kind(self.is_inline::<false>(id))
    }

    /// Why the operation at the head of a stream was not ready before.
    pub fn cause(&self, program: &Program<'_>, stream: u16) -> Cause {
        let cause = self.streams[usize::from(stream)].cause;
        let is_record = |id: ItemId| program.items[id as usize].sort == Sort::Record;
        let is_call =
            cause.before != NONE && (cause.reason == Reason::Issue || is_record(cause.before));
        if !is_call {
            return cause;
        }
        Cause { before: program.issued_by(cause.before), ..cause }
    }

    /// From when an engine looks for the head of a stream; and whether it was busy with what
    /// is before that in the stream as the head arrived.
    pub fn looked_for(&self, stream: u16) -> (Instant, bool) {
        self.streams[usize::from(stream)].looked_for
    }

    /// When the last operation of a stream ended.
    pub fn cleared(&self, stream: u16) -> Instant {
        self.streams[usize::from(stream)].cleared
    }

    /// Since when the host has been staging a copy at the head of its stream: while the last
    /// of the copy before it was still under way, into other buffers. On an H200, of twelve
    /// copies of 1 MB in a row each took 55 us, where one alone took 57 until it returned and
    /// 19 from then on.
    pub fn staged_since(
        &self,
        program: &Program<'_>,
        (id, entry): (EntryId, &Entry),
        now: Instant,
    ) -> Instant {
        let arrival = self.arrival(program, id);
        let stream = &self.streams[usize::from(entry.stream)];
        let kind = entry.kind(false);
        // Whatever else it had to wait for was over by then.
        let is_next = stream.last.time == now && stream.is_behind_its_like(kind, arrival);
        if is_next && kind == OperationKind::CopyIn { arrival } else { now }
    }

    /// It took the engine until now to find out about the operation at the head.
    pub fn found(&mut self, stream: u16, now: Instant) {
        self.streams[usize::from(stream)].cause.ready = now;
    }

    /// Goes on to the next call before `until` that is the next thing that its stream has
    /// to do; gives the stream.
    pub fn next_issued(&mut self, program: &Program<'_>, until: ItemId) -> Option<u16> {
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
        program: &Program<'_>,
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

    /// Done with something: whoever waited for it is to be looked at.
    #[inline(always)]
    fn let_follow<const PLAIN: bool>(&mut self, program: &Program<'_>, index: u16, waiter: u16) {
        if waiter != NOBODY {
            self.free(index, waiter);
        }
        if !PLAIN && !program.barrier.is_empty() {
            self.let_go(program);
        }
    }

    /// A stream that may go on because another one did.
    pub fn freed(&mut self) -> Option<u16> {
        let first = self.to_do;
        self.to_do = self.streams.get(usize::from(first))?.next;
        Some(first)
    }

    /// Lets a stream go on until its head is an operation that may start, and gives that.
    #[inline(always)]
    pub fn advance<'p, const PLAIN: bool>(
        &mut self,
        program: &'p Program<'_>,
        index: u16,
    ) -> Option<(EntryId, &'p Entry)> {
        let (id, entry) = self.head::<PLAIN>(program, index)?;
        match entry.sort {
            Sort::Operation(_) => Some((id, entry)),
            _ if PLAIN => unreachable!("a plain program has no marks"),
            _ => self.advance_past(program, index, entry),
        }
    }

    /// The head of a stream, if there is nothing in its way.
    #[inline(always)]
    fn head<'p, const PLAIN: bool>(
        &mut self,
        program: &'p Program<'_>,
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
        program: &'p Program<'_>,
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
    /// Whether what arrives at a time finds its engine busy with what is before it here.
    fn is_behind_its_like(&self, kind: OperationKind, arrival: Instant) -> bool {
        self.last.kind == Some(kind) && self.last.time > arrival
    }

    /// Goes on to the next entry; gives the first that waits for something here.
    fn pass_head(&mut self) -> u16 {
        self.head += 1;
        self.waiter
    }

    /// Something was issued to it: has it found the stream empty?
    fn find(&mut self, issued: Instant) {
        if issued >= self.cleared {
            self.seen = [false; OperationKind::COUNT];
        }
    }

    /// The head, if it is issued before a call.
    fn head_until<'p>(
        &self,
        program: &'p Program<'_>,
        until: ItemId,
    ) -> Option<(EntryId, &'p Entry)> {
        let entry = &program.entries.list[self.head as usize];
        (entry.item < until).then_some((self.head, entry))
    }
}
