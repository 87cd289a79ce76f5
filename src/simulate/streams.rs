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

use super::copies::{Copies, PEER_ENGINE};
use super::observer::Cause;
use super::operation::{Ending, ItemId, NONE};
use super::processors::Processors;
use super::program::{Class, Item, Program, Sort, Tie};
use super::start::Start;
use crate::plan::Direction;
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::Instant;

struct Stream {
    /// Positions in [`Program::in_streams`]: of the head, behind the last that
    /// was issued, and of a kernel that nothing before the head comes after.
    head: u32,
    issued: u32,
    kernel: u32,
    device: u16,
    /// The head has been given to its engine.
    running: bool,
    /// The head is behind the barrier of the legacy default stream.
    held_back: bool,
    /// Kinds of operations that were issued since the stream was last empty.
    seen: [bool; OperationKind::COUNT],
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
    /// Whether each item's data went along with its command; empty where none may.
    inline: Vec<bool>,
    to_do: Vec<u32>,
}

/// What is under way: an engine that does something looks at everything that waits for
/// it when it is done, so that a hand-over costs nothing extra.
#[derive(Clone, Copy)]
pub(super) struct Engines<'e> {
    pub now: Instant,
    pub copies: &'e Copies,
    /// Those of each device.
    pub processors: &'e [Processors],
}

impl Engines<'_> {
    fn are_busy(&self, device: usize, kind: OperationKind) -> bool {
        let copies = self.copies.busy(device);
        match kind {
            OperationKind::CopyIn => copies[Direction::HostToDevice as usize],
            OperationKind::CopyOut => copies[Direction::DeviceToHost as usize],
            OperationKind::Kernel => self.processors[device].is_busy(),
            OperationKind::PeerCopy => copies[PEER_ENGINE],
        }
    }
}

/// An operation that may start at a time.
pub(super) type Ready = (Instant, ItemId);

impl Streams {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        // Every time is written before it is read.
        self.issued.resize(program.items.len(), Instant::START);
        self.inline.clear();
        if program.classes.iter().any(|class| class.may_go_inline) {
            self.inline.resize(program.items.len(), false);
        }
        self.recordings.clear();
        let recording = Recording { ending: Ending::START, reached: false, waiter: NONE };
        self.recordings.resize(program.recordings, recording);
        self.streams.clear();
        let traits = program.starts.iter().zip(&program.traits);
        self.streams.extend(traits.map(|(&start, traits)| Stream {
            head: start,
            issued: start,
            kernel: start,
            device: traits.device.0 as u16,
            running: false,
            held_back: false,
            seen: [false; OperationKind::COUNT],
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

    /// An item's data goes along with its command.
    pub fn go_inline(&mut self, id: ItemId) {
        self.inline[id as usize] = true;
    }

    pub fn class_of<'p>(&self, program: &'p Program<'_>, id: ItemId) -> &'p Class {
        let inline = self.inline.get(id as usize).copied().unwrap_or(false);
        &program.classes[program.items[id as usize].class as usize + usize::from(inline)]
    }

    fn sort_of(&self, item: &Item, id: ItemId) -> Sort {
        // Where kernels are launched from.
        if self.inline.get(id as usize) == Some(&true) { Sort::KERNEL } else { item.sort }
    }

    /// Why the operation at the head of a stream was not ready before.
    pub fn cause(&self, program: &Program<'_>, stream: u16) -> Cause {
        let cause = self.streams[usize::from(stream)].cause;
        let is_record = |id: ItemId| program.items[id as usize].sort == Sort::Record;
        let is_call =
            cause.reason == Reason::Issue || cause.before != NONE && is_record(cause.before);
        if !is_call {
            return cause;
        }
        Cause { before: program.issued_by(cause.before), ..cause }
    }

    /// The host issues an item at a time that may lie ahead. Whether it is the
    /// next thing that its stream has to do.
    pub fn issue(&mut self, item: &Item, (time, id): Ready) -> bool {
        self.issued[id as usize] = time;
        let stream = &mut self.streams[usize::from(item.stream)];
        let at_head = !stream.running && stream.head == stream.issued;
        stream.issued += 1;
        at_head
    }

    /// The operation at the head of a stream has ended.
    pub fn end(&mut self, program: &Program<'_>, (index, id): (u16, ItemId), time: Instant) {
        let sort = self.sort_of(&program.items[id as usize], id);
        let stream = &mut self.streams[usize::from(index)];
        debug_assert!(stream.running, "only the head of a stream runs");
        let kind = match sort {
            Sort::Operation(kind) => Some(kind),
            _ => None,
        };
        stream.running = false;
        stream.cleared = time;
        stream.last = Ending { time, item: id, device: stream.device, kind };
        self.go_on(program, u32::from(index));
    }

    /// Done with the head; who is behind it across the barrier is to be looked at.
    fn go_on(&mut self, program: &Program<'_>, index: u32) {
        self.streams[index as usize].head += 1;
        for &other in &program.barrier {
            if std::mem::take(&mut self.streams[usize::from(other)].held_back) {
                self.to_do.push(u32::from(other));
            }
        }
    }

    /// Whether the head of a stream has to stay behind the barrier that the
    /// legacy default stream is; if not, it has to follow what was before it.
    fn holds_back(&mut self, program: &Program<'_>, index: u32) -> bool {
        let stream = &self.streams[index as usize];
        if stream.running || stream.head == stream.issued {
            return false;
        }
        let id = program.in_streams[stream.head as usize];
        let traits = |index: usize| &program.traits[index];
        let mine = traits(index as usize);
        let others = || {
            let others = program.barrier.iter().map(|&other| usize::from(other));
            others.filter(|&other| mine.waits_for(traits(other)))
        };
        let is_earlier = |other: usize| {
            let head = self.streams[other].head;
            head < program.starts[other + 1] && program.in_streams[head as usize] < id
        };
        let held_back = others().any(is_earlier);
        self.streams[index as usize].held_back = held_back;
        if !held_back {
            for other in others() {
                let last = self.streams[other].last;
                self.streams[index as usize].awaited.push(last);
            }
        }
        held_back
    }

    /// Starts the head of a stream if it can; passes over events that are done.
    pub fn advance(
        &mut self,
        program: &Program<'_>,
        index: u16,
        engines: Engines<'_>,
        ready: &mut Vec<Ready>,
    ) {
        // A reached event may set other streams free, and those others again.
        let mut next = Some(u32::from(index));
        while let Some(index) = next {
            while self.take_head(program, index, engines, ready) {}
            next = self.to_do.pop();
        }
    }

    /// Takes a record or a wait off a stream, if it can, or starts an operation.
    /// Whether there may be another head now.
    fn take_head(
        &mut self,
        program: &Program<'_>,
        index: u32,
        engines: Engines<'_>,
        ready: &mut Vec<Ready>,
    ) -> bool {
        if !program.barrier.is_empty() && self.holds_back(program, index) {
            return false;
        }
        let stream = &mut self.streams[index as usize];
        if stream.running || stream.head == stream.issued {
            return false;
        }
        let id = program.in_streams[stream.head as usize];
        let (item, issued) = (&program.items[id as usize], self.issued[id as usize]);
        // It found the stream empty.
        if issued >= stream.cleared {
            stream.seen = [false; OperationKind::COUNT];
        }
        match self.sort_of(item, id) {
            Sort::Record => {
                self.reach(program, index, (item.recording, id, issued));
                true
            }
            Sort::Wait => self.pass(program, index, (item.recording, issued)),
            Sort::Operation(kind) => {
                ready.push((self.start(program, index, (id, kind, issued), engines), id));
                false
            }
            Sort::HostOnly => unreachable!("what is the host's alone is in no stream"),
        }
    }

    /// Starts the operation at the head of a stream; the time at which it may.
    fn start(
        &mut self,
        program: &Program<'_>,
        index: u32,
        (id, kind, issued): (ItemId, OperationKind, Instant),
        engines: Engines<'_>,
    ) -> Instant {
        let class = self.class_of(program, id);
        let arrival = (issued, issued + class.latency);
        let stream = &self.streams[index as usize];
        let may_poll = (stream.last.kind, kind) == KERNELS && program.launching.len() > 1;
        let polling = if may_poll { self.polling(program, index, engines) } else { 0.0 };
        let stream = &mut self.streams[index as usize];
        let is_first = !std::mem::replace(&mut stream.seen[kind as usize], true);
        let is_busy = engines.are_busy(usize::from(stream.device), kind);
        let mut start = Start {
            kind,
            device: stream.device,
            is_busy,
            is_first,
            arrival,
            time: arrival.1,
            cause: Cause { reason: Reason::Issue, before: id, ready: arrival.1 },
        };
        let [within, across] =
            if class.in_graph { [Tie::Graph; 2] } else { [Tie::Stream, Tie::Event] };
        start.follow(program, &stream.last, within, polling, Reason::Stream);
        for event in stream.awaited.drain(..) {
            start.follow(program, &event, across, 0.0, Reason::Event);
        }
        stream.running = true;
        stream.cause = start.cause;
        start.time
    }

    /// Takes a record off the stream; whoever waited for it is to be looked at.
    fn reach(
        &mut self,
        program: &Program<'_>,
        index: u32,
        (recording, id, arrives): (u32, ItemId, Instant),
    ) {
        let stream = &mut self.streams[index as usize];
        let mut ending = stream.last;
        if ending.time < arrives {
            ending = Ending { time: arrives, item: id, device: stream.device, ..stream.last };
        }
        // What the stream itself still has to follow, its waiters have to as well.
        for &other in &stream.awaited {
            if other.time > ending.time {
                ending = other;
            }
        }
        stream.cleared = stream.cleared.max(ending.time);
        let recording = &mut self.recordings[recording as usize];
        (recording.ending, recording.reached) = (ending, true);
        let mut waiter = recording.waiter;
        while waiter != NONE {
            self.to_do.push(waiter);
            waiter = self.streams[waiter as usize].next_waiter;
        }
        self.go_on(program, index);
    }

    /// Takes a wait off the stream if what it waits for has happened.
    fn pass(
        &mut self,
        program: &Program<'_>,
        index: u32,
        (recording, issued): (u32, Instant),
    ) -> bool {
        let stream = &mut self.streams[index as usize];
        let mut left = issued;
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
        stream.cleared = stream.cleared.max(left);
        self.go_on(program, index);
        true
    }

    /// What a kernel behind a kernel pays for other streams that the device has
    /// to look after: those with a kernel that waits for something else than a
    /// kernel before it.
    fn polling(&mut self, program: &Program<'_>, index: u32, engines: Engines<'_>) -> f64 {
        let device = self.streams[index as usize].device;
        let mut others = 0;
        for &other in &program.launching {
            let stream = &mut self.streams[usize::from(other)];
            let is_kernel = |position: u32| {
                let id = program.in_streams[position as usize];
                program.items[id as usize].sort == Sort::KERNEL
            };
            let is_elsewhere = stream.device != device;
            if u32::from(other) == index || is_elsewhere || stream.head == stream.issued {
                continue;
            }
            stream.kernel = stream.kernel.max(stream.head);
            while stream.kernel < stream.issued && !is_kernel(stream.kernel) {
                stream.kernel += 1;
            }
            let waits = stream.kernel < stream.issued
                && !is_kernel(stream.head)
                && self.issued[program.in_streams[stream.kernel as usize] as usize] <= engines.now;
            others += usize::from(waits);
        }
        let [down, up, _] = engines.copies.busy(usize::from(device));
        program.profile.polling(others, [down, up])
    }
}

/// A kernel behind a kernel.
const KERNELS: (Option<OperationKind>, OperationKind) =
    (Some(OperationKind::Kernel), OperationKind::Kernel);
