//! Stream order and events.
//!
//! A stream is a FIFO: an operation is at its head once the one before it has ended. `start` works
//! out when the head may start.
//!
//! The host runs ahead of the device in simulated time until it has to wait, so a stream may hold
//! work that is issued later than now. Whatever depends on the time of issue compares times, and
//! never asks what is in the queue.

mod waiting;
mod waiting_kernels;

use super::delays::Delays;
use super::hand_overs::EngineView;
use super::operation::{Cause, Ending};
use crate::cost::{
    CallCost, CallId, CompiledProgram, Entry, EntryId, Layout, NO_STREAM, NONE, Recording, WorkKind,
};
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::Instant;

struct Stream {
    /// The entry at the stream's head, as an index of all entries.
    head: EntryId,
    /// Entries from `passed` up to `launched` hold `held` launched kernels that the head had not
    /// passed when this was last asked.
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
    polled_from: (Instant, bool),
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
pub(super) struct Streams<'p> {
    pub compiled: &'p CompiledProgram<'p>,
    pub layout: &'p Layout,
    streams: Vec<Stream>,
    pub delays: Delays,
    /// The end of each entry that is over.
    endings: Vec<Ending>,
    /// For each entry, whether its data travelled along with its command; empty if no copy can.
    inline: Vec<bool>,
    /// The first stream in the list of those that may go on; the latest comes first.
    to_do: u16,
}

/// The operation at the head of a stream, and when it may start.
pub(super) struct Next<'p> {
    pub time: Instant,
    pub cost: &'p CallCost,
    /// Whether the engine has to find out by polling that the operation may start.
    pub is_missed: bool,
}

/// The operation at the head of a stream, before it is known when it may start.
struct Head<'p> {
    entry: &'p Entry,
    cost: &'p CallCost,
    kind: OperationKind,
    /// Whether the operation is the first of its kind since its stream was last empty.
    is_first: bool,
    /// When the operation was issued, and when it reaches the device.
    arrival: (Instant, Instant),
}

impl<'p> Streams<'p> {
    pub fn new(compiled: &'p CompiledProgram<'p>) -> Self {
        let entries = &compiled.body.structure.layout.entries;
        let may_go_inline = compiled.body.costs.iter().any(|cost| cost.may_go_inline);
        let waits = |start: EntryId| match start.checked_sub(1) {
            Some(before) => compiled.body.entry(before).waits,
            None => 0,
        };
        let starts = entries.starts.iter().zip(&compiled.body.structure.layout.traits);
        let streams = starts.map(|(&start, traits)| Stream {
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
            polled_from: (Instant::START, false),
            awaited: Vec::new(),
            waiter: NO_STREAM,
            awaits: Recording::NEVER,
            next: NO_STREAM,
            cause: Cause::START,
        });
        Self {
            compiled,
            layout: &compiled.body.structure.layout,
            streams: streams.collect(),
            delays: Delays::new(compiled),
            endings: vec![Ending::START; entries.list.len()],
            inline: vec![false; if may_go_inline { entries.list.len() } else { 0 }],
            to_do: NO_STREAM,
        }
    }

    #[inline]
    pub fn is_drained(&self, stream: u16) -> bool {
        self.issued_head(stream).is_none()
    }

    #[inline]
    pub fn is_issued(&self, id: EntryId) -> bool {
        self.delays.is_issued(self.layout.entry(id).call)
    }

    /// When an entry was issued; it must have been.
    #[inline(always)]
    pub fn issued(&self, entry: &Entry) -> Instant {
        self.delays.issued(entry.call, self.compiled.body.issued(entry.call))
    }

    /// When an operation that has been issued reaches the device.
    #[inline]
    pub fn arrival(&self, id: EntryId) -> Instant {
        let entry = self.layout.entry(id);
        self.issued(entry) + self.cost_of(id).latency
    }

    /// Moves on to the next call before `until` that is at the head of its stream, and returns that
    /// stream.
    #[inline]
    pub fn next_issued(&mut self, until: CallId) -> Option<u16> {
        let next = |(index, stream): (usize, &Stream)| {
            let call = self.layout.entry(stream.head).call;
            (self.delays.until..until).contains(&call).then_some((call, index as u16))
        };
        let next = self.streams.iter().enumerate().filter_map(next).min();
        self.delays.until = next.map_or(until, |(call, _)| call + 1);
        next.map(|(_, stream)| stream)
    }

    /// One of several host threads issues a call now. Returns the stream that it is at the head of.
    pub fn make(&mut self, call: CallId, now: Instant) -> Option<u16> {
        self.delays.make(call, now);
        let stream = self.layout.calls[call as usize].stream;
        let head = self.streams.get(usize::from(stream))?.head;
        (self.layout.entry(head).call == call).then_some(stream)
    }

    /// Makes the data of the operation issued next to a drained stream travel along with its
    /// command.
    #[inline]
    pub fn go_inline(&mut self, stream: u16) {
        let next = self.streams[usize::from(stream)].head;
        self.inline[next as usize] = true;
    }

    /// Whether an operation's data travelled along with its command.
    #[inline]
    pub fn is_inline(&self, id: EntryId) -> bool {
        self.inline.get(id as usize) == Some(&true)
    }

    /// Whether an entry of a stream has ended, and so all entries before it.
    #[inline]
    pub fn is_over(&self, stream: u16, id: EntryId) -> bool {
        self.streams[usize::from(stream)].head > id
    }

    #[inline]
    pub fn cost_of(&self, id: EntryId) -> &'p CallCost {
        let entry = self.layout.entry(id);
        &self.compiled.body.costs[entry.cost as usize + usize::from(self.is_inline(id))]
    }

    /// The kind of an operation.
    #[inline]
    pub fn kind_of(&self, entry: &Entry, id: EntryId) -> OperationKind {
        entry.operation_kind(self.is_inline(id))
    }

    /// Why the operation at the head of a stream was not ready earlier.
    #[inline]
    pub fn cause(&self, stream: u16) -> Cause {
        let cause = self.streams[usize::from(stream)].cause;
        let is_record = |id: CallId| self.layout.calls[id as usize].kind == WorkKind::Record;
        let is_call =
            cause.before != NONE && (cause.reason == Reason::Issue || is_record(cause.before));
        if !is_call {
            return cause;
        }
        Cause { before: self.layout.issued_by(cause.before), ..cause }
    }

    /// From when polling periods for the head of a stream count, and whether its engine was busy
    /// with the operation before the head in this stream when the head arrived.
    #[inline]
    pub fn polled_from(&self, stream: u16) -> (Instant, bool) {
        self.streams[usize::from(stream)].polled_from
    }

    /// When the stream's last entry so far was over.
    #[inline]
    pub fn cleared(&self, stream: u16) -> Instant {
        self.streams[usize::from(stream)].cleared
    }

    /// Since when the host has been staging the copy at the head of its stream. In a row of H2D
    /// copies, it stages one into other buffers while the last part of the copy before is still
    /// under way. On an H200, of twelve copies of 1 MB in a row each took 55 us, while one alone
    /// took 57 us until it returned and 19 us from then on.
    #[inline]
    pub fn staged_since(&self, (id, entry): (EntryId, &Entry), now: Instant) -> Instant {
        let arrival = self.arrival(id);
        let stream = &self.streams[usize::from(entry.stream)];
        let kind = entry.operation_kind(false);
        // Everything else that it had to wait for was over by then.
        let is_next = stream.last.time == now && stream.queues_behind_last(kind, arrival);
        if is_next && kind == OperationKind::CopyIn { arrival } else { now }
    }

    /// Notes that the engine took until `now` to find out that the head may go on.
    #[inline]
    pub fn found(&mut self, stream: u16, now: Instant) {
        self.streams[usize::from(stream)].cause.ready = now;
    }

    /// The operation at the head of a stream has ended.
    #[inline(always)]
    pub fn end(&mut self, entry: &Entry, (started, time): (Instant, Instant)) -> OperationKind {
        let stream = &mut self.streams[usize::from(entry.stream)];
        let &mut Stream { kind, device, head, .. } = stream;
        let ending = Ending { time, call: entry.call, device, kind: Some(kind) };
        (stream.cleared, stream.last, stream.started) = (time, ending, started);
        self.endings[head as usize] = ending;
        let waiter = stream.pass_head();
        self.let_follow(entry.stream, waiter);
        kind
    }

    /// Marks the streams that waited for an entry to be examined, when that entry is over.
    #[inline(always)]
    fn let_follow(&mut self, index: u16, waiter: u16) {
        if waiter != NO_STREAM {
            self.free(index, waiter);
        }
        if !self.layout.barrier.is_empty() {
            self.let_go();
        }
    }

    /// Takes out a stream that may go on because another one did.
    #[inline]
    pub fn freed(&mut self) -> Option<u16> {
        let first = self.to_do;
        self.to_do = self.streams.get(usize::from(first))?.next;
        Some(first)
    }

    /// Lets a stream go on until its head is an operation that may start, and returns that
    /// operation.
    #[inline(always)]
    pub fn advance(&mut self, index: u16) -> Option<(EntryId, &'p Entry)> {
        let (id, entry) = self.head(index)?;
        match entry.kind {
            WorkKind::Operation(_) => Some((id, entry)),
            _ => self.advance_past(index, entry),
        }
    }

    /// The head of a stream, if nothing is in its way.
    #[inline(always)]
    fn head(&mut self, index: u16) -> Option<(EntryId, &'p Entry)> {
        if !self.layout.barrier.is_empty() && self.holds_back(index) {
            return None;
        }
        let stream = &self.streams[usize::from(index)];
        let (id, entry) = self.issued_head(index)?;
        for wait in stream.wait..entry.waits {
            if !self.pass_wait(index, wait) {
                return None;
            }
        }
        Some((id, entry))
    }

    /// The head of a stream, if it has been issued.
    #[inline(always)]
    fn issued_head(&self, stream: u16) -> Option<(EntryId, &'p Entry)> {
        let head = self.streams[usize::from(stream)].head;
        let entry = self.layout.entry(head);
        self.delays.is_issued(entry.call).then_some((head, entry))
    }

    /// Starts the operation at the head of a stream.
    #[inline(always)]
    pub fn start<const LISTENS: bool>(
        &mut self,
        (id, entry): (EntryId, &'p Entry),
        engines: EngineView<'_>,
    ) -> Next<'p> {
        let is_inline = self.is_inline(id);
        let cost = &self.compiled.body.costs[entry.cost as usize + usize::from(is_inline)];
        let kind = entry.operation_kind(is_inline);
        let index = entry.stream;
        let issued = self.issued(entry);
        let arrival = (issued, issued + cost.latency);
        let polls = kind == OperationKind::Kernel && !cost.in_graph;
        let longer = if self.compiled.body.structure.waiting_kernels.launching.len() > 1 && polls {
            self.beside_waiting(index, engines)
        } else {
            0.0
        };
        let stream = &mut self.streams[usize::from(index)];
        stream.find(issued);
        let is_first = !std::mem::replace(&mut stream.seen[kind as usize], true);
        let head = Head { entry, cost, kind, is_first, arrival };
        let (time, missed) = self.follow::<LISTENS>(&head, (longer, engines));
        let stream = &mut self.streams[usize::from(index)];
        (stream.first_wait, stream.kind) = (entry.waits, kind);
        if let Some(from) = missed {
            stream.polled_from = (from, stream.queues_behind_last(kind, arrival.1));
        }
        Next { time, cost, is_missed: missed.is_some() }
    }
}

impl Stream {
    /// Whether an operation of this kind, arriving at this time, finds its engine busy with the
    /// operation before it in this stream.
    #[inline]
    fn queues_behind_last(&self, kind: OperationKind, arrival: Instant) -> bool {
        self.last.kind == Some(kind) && self.last.time > arrival
    }

    /// Moves on to the next entry; returns the first stream that waits for something here.
    #[inline]
    fn pass_head(&mut self) -> u16 {
        self.head += 1;
        self.waiter
    }

    /// Something was issued to the stream: if that was empty, no kinds have been seen since.
    #[inline]
    fn find(&mut self, issued: Instant) {
        if issued >= self.cleared {
            self.seen = [false; OperationKind::COUNT];
        }
    }
}
