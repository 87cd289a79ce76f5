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
use super::entries::{Entries, Entry, EntryId, Recording, Wait};
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
    /// Among all entries: the head, what follows the last that was issued, and a kernel
    /// that nothing before the head comes after.
    head: EntryId,
    issued: EntryId,
    kernel: EntryId,
    /// The next wait of the head, or of what follows it.
    wait: u32,
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
    /// The first stream whose head waits for something here: in order of what they wait
    /// for, and of those that wait for the same, the last to come is the first.
    waiter: u32,
    /// The next stream in the list that this one is in.
    next_waiter: u32,
    /// Why the running operation could not start before it was ready, and when
    /// that was.
    cause: Cause,
}

#[derive(Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    /// When each item was issued.
    issued: Vec<Instant>,
    /// The end of each entry that is over.
    endings: Vec<Ending>,
    /// Whether each entry's data went along with its command; empty where none may.
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
pub(super) type Ready = (Instant, EntryId);

impl Streams {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        // All of these are written before they are read.
        self.issued.resize(program.items.len(), Instant::START);
        self.endings.resize(program.entries.list.len(), Ending::START);
        self.inline.clear();
        if program.classes.iter().any(|class| class.may_go_inline) {
            self.inline.resize(program.entries.list.len(), false);
        }
        self.streams.clear();
        let waits = |start: EntryId| match start.checked_sub(1) {
            Some(before) => program.entries.list[before as usize].waits,
            None => 0,
        };
        let traits = program.entries.starts.iter().zip(&program.traits);
        self.streams.extend(traits.map(|(&start, traits)| Stream {
            head: start,
            issued: start,
            kernel: start,
            wait: waits(start),
            device: traits.device.0 as u16,
            running: false,
            held_back: false,
            seen: [false; OperationKind::COUNT],
            cleared: Instant::START,
            last: Ending::START,
            awaited: Vec::new(),
            waiter: NONE,
            next_waiter: NONE,
            cause: Cause::START,
        }));
    }

    pub fn is_drained(&self, stream: u16) -> bool {
        let stream = &self.streams[usize::from(stream)];
        stream.head == stream.issued
    }

    /// The data of what is issued next to a stream goes along with its command.
    pub fn go_inline(&mut self, stream: u16) {
        let next = self.streams[usize::from(stream)].issued;
        self.inline[next as usize] = true;
    }

    pub fn class_of<'p>(&self, program: &'p Program<'_>, id: EntryId) -> &'p Class {
        let inline = self.inline.get(id as usize).copied().unwrap_or(false);
        let entry = &program.entries.list[id as usize];
        &program.classes[entry.class as usize + usize::from(inline)]
    }

    fn sort_of(&self, entry: &Entry, id: EntryId) -> Sort {
        // Where kernels are launched from.
        if self.inline.get(id as usize) == Some(&true) { Sort::KERNEL } else { entry.sort }
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
    pub fn issue(&mut self, item: &Item, (time, id): (Instant, ItemId)) -> bool {
        self.issued[id as usize] = time;
        if item.is_part {
            return false;
        }
        let stream = &mut self.streams[usize::from(item.stream)];
        let at_head = !stream.running && stream.head == stream.issued;
        stream.issued += 1;
        at_head
    }

    /// The operation at the head of a stream has ended.
    pub fn end(&mut self, program: &Program<'_>, (index, id): (u16, EntryId), time: Instant) {
        let entry = &program.entries.list[id as usize];
        let kind = match self.sort_of(entry, id) {
            Sort::Operation(kind) => Some(kind),
            _ => None,
        };
        let stream = &mut self.streams[usize::from(index)];
        debug_assert!(stream.running, "only the head of a stream runs");
        stream.running = false;
        stream.cleared = time;
        stream.last = Ending { time, item: entry.item, device: stream.device, kind };
        let ending = stream.last;
        self.pass_head(program, u32::from(index), ending);
    }

    /// Done with the head: whoever waited for it is to be looked at.
    fn pass_head(&mut self, program: &Program<'_>, index: u32, ending: Ending) {
        let stream = &mut self.streams[index as usize];
        self.endings[stream.head as usize] = ending;
        stream.head += 1;
        let (head, mut waiter) = (stream.head, stream.waiter);
        while waiter != NONE {
            let other = &self.streams[waiter as usize];
            if program.entries.waits[other.wait as usize].until.entry >= head {
                break;
            }
            self.to_do.push(waiter);
            waiter = other.next_waiter;
        }
        self.streams[index as usize].waiter = waiter;
        // And who is behind it across the barrier.
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
        let id = program.entries.list[stream.head as usize].item;
        let traits = |index: usize| &program.traits[index];
        let mine = traits(index as usize);
        let others = || {
            let others = program.barrier.iter().map(|&other| usize::from(other));
            others.filter(|&other| mine.waits_for(traits(other)))
        };
        let is_earlier = |other: usize| {
            let head = self.streams[other].head;
            let Entries { list, starts, .. } = &program.entries;
            head < starts[other + 1] && list[head as usize].item < id
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

    /// Takes the head off a stream if it can, or starts it. Whether there may be
    /// another head now.
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
        let &Stream { head, issued, running, wait, .. } = &self.streams[index as usize];
        if running || head == issued {
            return false;
        }
        let entry = &program.entries.list[head as usize];
        if wait != entry.waits && !self.pass_waits(program, index, entry.waits) {
            return false;
        }
        let issued = self.issued[entry.item as usize];
        let stream = &mut self.streams[index as usize];
        // It found the stream empty.
        if issued >= stream.cleared {
            stream.seen = [false; OperationKind::COUNT];
        }
        match self.sort_of(entry, head) {
            Sort::Operation(kind) => {
                ready.push((self.start(program, index, (kind, issued), engines), head));
                return false;
            }
            Sort::Record => self.reach(program, index, (entry.item, issued)),
            Sort::Wait => self.pass_head(program, index, Ending::START),
            Sort::HostOnly => unreachable!("what is the host's alone is in no stream"),
        }
        true
    }

    /// Takes waits off a stream, up to one that is for something to come. Whether there
    /// is none.
    fn pass_waits(&mut self, program: &Program<'_>, index: u32, behind: u32) -> bool {
        for place in self.streams[index as usize].wait..behind {
            let Wait { item, until } = program.entries.waits[place as usize];
            let is_made = until.entry != NONE;
            if is_made && self.streams[usize::from(until.stream)].head <= until.entry {
                self.queue_up(program, index, until);
                return false;
            }
            let stream = &mut self.streams[index as usize];
            let mut left = self.issued[item as usize];
            if left >= stream.cleared {
                stream.seen = [false; OperationKind::COUNT];
            }
            if is_made {
                let ending = self.endings[until.entry as usize];
                stream.awaited.push(ending);
                left = left.max(ending.time);
            }
            stream.cleared = stream.cleared.max(left);
            stream.wait = place + 1;
        }
        true
    }

    /// Has a stream looked at when a recording is made.
    fn queue_up(&mut self, program: &Program<'_>, index: u32, until: Recording) {
        let awaited = |stream: &Stream| program.entries.waits[stream.wait as usize].until.item;
        let mut next = self.streams[usize::from(until.stream)].waiter;
        let mut before = NONE;
        while next != NONE && awaited(&self.streams[next as usize]) < until.item {
            (before, next) = (next, self.streams[next as usize].next_waiter);
        }
        self.streams[index as usize].next_waiter = next;
        if before == NONE {
            self.streams[usize::from(until.stream)].waiter = index;
        } else {
            self.streams[before as usize].next_waiter = index;
        }
    }

    /// Starts the operation at the head of a stream; the time at which it may.
    fn start(
        &mut self,
        program: &Program<'_>,
        index: u32,
        (kind, issued): (OperationKind, Instant),
        engines: Engines<'_>,
    ) -> Instant {
        let stream = &self.streams[index as usize];
        let class = self.class_of(program, stream.head);
        let item = program.entries.list[stream.head as usize].item;
        let arrival = (issued, issued + class.latency);
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
            cause: Cause { reason: Reason::Issue, before: item, ready: arrival.1 },
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

    /// Takes a record off the stream.
    fn reach(&mut self, program: &Program<'_>, index: u32, (item, issued): (ItemId, Instant)) {
        let stream = &mut self.streams[index as usize];
        let mut ending = stream.last;
        if ending.time < issued {
            ending = Ending { time: issued, item, device: stream.device, ..ending };
        }
        // What the stream itself still has to follow, its waiters have to as well.
        for &other in &stream.awaited {
            if other.time > ending.time {
                ending = other;
            }
        }
        stream.cleared = stream.cleared.max(ending.time);
        self.pass_head(program, index, ending);
    }

    /// What a kernel behind a kernel pays for other streams that the device has
    /// to look after: those with a kernel that waits for something else than a
    /// kernel before it.
    fn polling(&mut self, program: &Program<'_>, index: u32, engines: Engines<'_>) -> f64 {
        let device = self.streams[index as usize].device;
        let mut others = 0;
        for &other in &program.launching {
            let stream = &mut self.streams[usize::from(other)];
            let is_kernel = |id: EntryId| program.entries.list[id as usize].sort == Sort::KERNEL;
            let is_elsewhere = stream.device != device;
            if u32::from(other) == index || is_elsewhere || stream.head == stream.issued {
                continue;
            }
            stream.kernel = stream.kernel.max(stream.head);
            while stream.kernel < stream.issued && !is_kernel(stream.kernel) {
                stream.kernel += 1;
            }
            let head = &program.entries.list[stream.head as usize];
            let is_launched = |id: EntryId| {
                self.issued[program.entries.list[id as usize].item as usize] <= engines.now
            };
            let waits = stream.kernel < stream.issued
                && (head.sort != Sort::KERNEL || stream.wait != head.waits)
                && is_launched(stream.kernel);
            others += usize::from(waits);
        }
        let [down, up, _] = engines.copies.busy(usize::from(device));
        program.profile.polling(others, [down, up])
    }
}

/// A kernel behind a kernel.
const KERNELS: (Option<OperationKind>, OperationKind) =
    (Some(OperationKind::Kernel), OperationKind::Kernel);
