//! Stream order, events and hand-overs.
//!
//! A stream is a FIFO: an operation is at its head once the one before it has
//! ended. Going from one operation to a dependent one that is there and waits
//! costs a hand-over, which depends on the kinds of both, on whether they
//! share the stream, and on whether the second is the first of its kind there.
//!
//! The host runs ahead of the device in simulated time until it has to wait,
//! so a stream may hold what is issued later than now. Whatever depends on
//! that compares times and never asks what is in the queue.

use super::observer::Cause;
use super::operation::{Ending, ItemId, NONE, waits_for};
use super::program::{Program, Sort};
use crate::plan::Direction;
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::{Instant, Span};

struct Stream {
    /// Positions in [`Program::in_streams`]: of the head, behind the last that
    /// was issued, and of a kernel that nothing before the head comes after.
    head: u32,
    issued: u32,
    kernel: u32,
    /// The head has been given to its engine.
    running: bool,
    /// Kinds of operations that were issued since the stream was last empty.
    seen: [bool; 3],
    /// When the last one left.
    cleared: Instant,
    /// The last operation that ended here.
    last: Ending,
    /// What the next operation must follow besides: events that were waited for.
    awaited: Vec<Ending>,
    /// The next stream that waits for the same recording.
    next_waiter: u32,
    /// Why the running operation could not start before it was ready, and when
    /// that was.
    cause: Cause,
}

/// One recording of an event.
#[derive(Clone, Copy)]
struct Recording {
    /// Only meaningful once its stream has come to it.
    ending: Ending,
    reached: bool,
    /// The first stream whose head waits for it.
    waiter: u32,
}

#[derive(Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    recordings: Vec<Recording>,
    /// When each item was issued.
    issued: Vec<Instant>,
    to_do: Vec<u32>,
    /// What is busy right now: an engine that is looks at everything that waits
    /// for it when it is done, so that a hand-over costs nothing extra.
    pub busy: Busy,
}

/// Which engines are doing something.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Busy {
    pub copies: [bool; 2],
    pub processors: bool,
}

impl Busy {
    const fn is(self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::CopyIn => self.copies[Direction::HostToDevice as usize],
            OperationKind::CopyOut => self.copies[Direction::DeviceToHost as usize],
            OperationKind::Kernel => self.processors,
        }
    }
}

/// An operation that may start at a time.
pub(super) type Ready = (Instant, ItemId);

impl Streams {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        self.busy = Busy::default();
        // Every time is written before it is read.
        self.issued.resize(program.items.len(), Instant::START);
        self.recordings.clear();
        let recording = Recording { ending: Ending::START, reached: false, waiter: NONE };
        self.recordings.resize(program.recordings, recording);
        self.streams.clear();
        self.streams.extend(program.starts[..program.streams()].iter().map(|&start| Stream {
            head: start,
            issued: start,
            kernel: start,
            running: false,
            seen: [false; 3],
            cleared: Instant::START,
            last: Ending::START,
            awaited: Vec::new(),
            next_waiter: NONE,
            cause: Cause::START,
        }));
    }

    pub fn is_drained(&self, stream: u16) -> bool {
        let stream = &self.streams[usize::from(stream)];
        stream.head == stream.issued
    }

    /// Why the operation at the head of a stream was not ready before.
    pub fn cause(&self, stream: u16) -> Cause {
        self.streams[usize::from(stream)].cause
    }

    /// The host issues an item at a time that may lie ahead.
    pub fn issue(
        &mut self,
        program: &Program<'_>,
        (time, id): Ready,
        now: Instant,
        ready: &mut Vec<Ready>,
    ) {
        self.issued[id as usize] = time;
        let index = u32::from(program.items[id as usize].stream);
        let stream = &mut self.streams[index as usize];
        stream.issued += 1;
        if !stream.running && stream.head + 1 == stream.issued {
            self.advance(program, index, now, ready);
        }
    }

    /// The operation at the head of a stream has ended.
    pub fn end(
        &mut self,
        program: &Program<'_>,
        id: ItemId,
        time: Instant,
        ready: &mut Vec<Ready>,
    ) {
        let index = u32::from(program.items[id as usize].stream);
        let stream = &mut self.streams[index as usize];
        debug_assert!(stream.running, "only the head of a stream runs");
        stream.running = false;
        stream.head += 1;
        stream.cleared = time;
        stream.last = Ending { time, item: id, kind: program.class_of(id).work.kind() };
        self.advance(program, index, time, ready);
    }

    /// Starts the head of a stream if it can; passes over events that are done.
    fn advance(&mut self, program: &Program<'_>, index: u32, now: Instant, ready: &mut Vec<Ready>) {
        // A reached event may set other streams free, and those others again.
        let mut next = Some(index);
        while let Some(index) = next {
            loop {
                let stream = &mut self.streams[index as usize];
                if stream.running || stream.head == stream.issued {
                    break;
                }
                let id = program.in_streams[stream.head as usize];
                // It found the stream empty.
                if self.issued[id as usize] >= stream.cleared {
                    stream.seen = [false; 3];
                }
                match program.items[id as usize].sort {
                    Sort::Record => self.reach(program, index, id),
                    Sort::Wait if !self.pass(program, index, id) => break,
                    Sort::Wait => {}
                    _ => ready.push((self.start(program, index, id, now), id)),
                }
            }
            next = self.to_do.pop();
        }
    }

    /// Takes a record off the stream; whoever waited for it is to be looked at.
    fn reach(&mut self, program: &Program<'_>, index: u32, id: ItemId) {
        let arrives = self.issued[id as usize];
        let stream = &mut self.streams[index as usize];
        let mut ending = stream.last;
        if ending.time < arrives {
            ending = Ending { time: arrives, item: id, kind: stream.last.kind };
        }
        // What the stream itself still has to follow, its waiters have to as well.
        for &other in &stream.awaited {
            if other.time > ending.time {
                ending = other;
            }
        }
        stream.head += 1;
        stream.cleared = stream.cleared.max(ending.time);
        let recording = &mut self.recordings[program.items[id as usize].recording as usize];
        (recording.ending, recording.reached) = (ending, true);
        let mut waiter = recording.waiter;
        while waiter != NONE {
            self.to_do.push(waiter);
            waiter = self.streams[waiter as usize].next_waiter;
        }
    }

    /// Takes a wait off the stream if what it waits for has happened.
    fn pass(&mut self, program: &Program<'_>, index: u32, id: ItemId) -> bool {
        let stream = &mut self.streams[index as usize];
        let mut left = self.issued[id as usize];
        let recording = program.items[id as usize].recording;
        if recording != NONE {
            let recording = &mut self.recordings[recording as usize];
            if !recording.reached {
                stream.next_waiter = recording.waiter;
                recording.waiter = index;
                return false;
            }
            stream.awaited.push(recording.ending);
            left = left.max(recording.ending.time);
        }
        stream.head += 1;
        stream.cleared = stream.cleared.max(left);
        true
    }

    /// When the head of a stream may start.
    fn start(&mut self, program: &Program<'_>, index: u32, id: ItemId, now: Instant) -> Instant {
        let class = program.class_of(id);
        let to = class.work.kind().expect("events are handled before");
        let issued = self.issued[id as usize];
        let arrives = issued + class.latency;
        let stream = &mut self.streams[index as usize];
        let is_first = !std::mem::replace(&mut stream.seen[to as usize], true);
        let (last, mut awaited) = (stream.last, std::mem::take(&mut stream.awaited));
        let mut time = arrives;
        let mut cause = Cause { reason: Reason::Issue, before: id, ready: arrives };
        let others = awaited.drain(..).map(|event| (event, true));
        for (from, across) in std::iter::once((last, false)).chain(others) {
            let side = usize::from(across);
            let price =
                from.kind.and_then(|kind| program.hand_overs[kind as usize][to as usize][side]);
            let cost = match price {
                Some(_) if self.busy.is(to) => 0.0,
                Some(price) if is_first => price.first,
                Some(price) => price.queued,
                None if !across && (from.kind, to) == KERNELS => self.polling(program, index, now),
                None => 0.0,
            };
            let mut after = from.time;
            // What ends before the issue has nobody waiting for it.
            if cost > 0.0 && after > issued {
                after = after + Span::from_nanos_f64(cost * waits_for(after, (issued, arrives)));
            }
            if after > time {
                time = after;
                let reason = if across { Reason::Event } else { Reason::Stream };
                cause = Cause { reason, before: from.item, ready: after };
            }
        }
        let stream = &mut self.streams[index as usize];
        stream.awaited = awaited;
        stream.running = true;
        stream.cause = cause;
        time
    }

    /// What a kernel behind a kernel pays for other streams that the device has
    /// to look after: those with a kernel that waits for something else than a
    /// kernel before it.
    fn polling(&mut self, program: &Program<'_>, index: u32, now: Instant) -> f64 {
        let mut others = 0;
        for &other in &program.launching {
            let stream = &mut self.streams[usize::from(other)];
            let is_kernel = |position: u32| {
                let id = program.in_streams[position as usize];
                program.items[id as usize].sort == Sort::Kernel
            };
            if u32::from(other) == index || stream.head == stream.issued {
                continue;
            }
            stream.kernel = stream.kernel.max(stream.head);
            while stream.kernel < stream.issued && !is_kernel(stream.kernel) {
                stream.kernel += 1;
            }
            let waits = stream.kernel < stream.issued
                && !is_kernel(stream.head)
                && self.issued[program.in_streams[stream.kernel as usize] as usize] <= now;
            others += usize::from(waits);
        }
        program.profile.polling(others, self.busy.copies)
    }
}

/// A kernel behind a kernel.
const KERNELS: (Option<OperationKind>, OperationKind) =
    (Some(OperationKind::Kernel), OperationKind::Kernel);
