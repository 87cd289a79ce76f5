//! Operations in streams, copies in one for each direction and kernels in a few, and the fewest
//! events that order them.
//!
//! A scheduler says what each operation comes after. What the streams, and waits before, imply
//! already is not waited for again; an event is recorded only behind what somebody waits for.

use crate::families::Builder;
use crate::machine::{DeviceId, StreamId};
use crate::program::{Call, EventId};
use crate::units::{Instant, Span};

/// Index of an operation, in the order of issue.
pub(super) type OpId = usize;

/// For each stream, how many of its operations are known to be done.
type Clock = Vec<usize>;

/// What a stream does or, with none, the host by itself, after some operations.
struct Op {
    stream: Option<StreamId>,
    calls: Vec<Call>,
    after: Vec<OpId>,
}

/// Calls in the order of issue.
#[derive(Default)]
pub(super) struct Issue {
    ops: Vec<Op>,
    /// When each ends, if whatever is in different streams runs side by side.
    ends: Vec<Instant>,
    /// When the last of each stream ends, and when the host goes on.
    free: Vec<Instant>,
    host: Instant,
}

/// What is waited for right before an operation: an event behind an operation, or, if nothing comes
/// behind it in its stream so far, by the host the stream itself.
#[derive(Clone, Copy)]
enum Awaited {
    Event(OpId),
    Stream(StreamId),
}

impl Issue {
    /// Adds an operation that takes so long by itself.
    pub fn push(
        &mut self,
        stream: StreamId,
        length: Span,
        calls: Vec<Call>,
        after: Vec<OpId>,
    ) -> OpId {
        let end = self.ready(&after).max(self.free_at(stream)) + length;
        if self.free.len() <= stream.0 {
            self.free.resize(stream.0 + 1, Instant::START);
        }
        self.free[stream.0] = end;
        self.ends.push(end);
        self.ops.push(Op { stream: Some(stream), calls, after });
        self.ops.len() - 1
    }

    pub fn on_host(&mut self, length: Span, calls: Vec<Call>, after: Vec<OpId>) {
        self.host = self.ready(&after) + length;
        self.ends.push(self.host);
        self.ops.push(Op { stream: None, calls, after });
    }

    /// When what comes after some operations can begin.
    pub fn ready(&self, after: &[OpId]) -> Instant {
        after.iter().map(|&op| self.ends[op]).fold(self.host, Instant::max)
    }

    /// When the operations of a stream so far have ended.
    pub fn free_at(&self, stream: StreamId) -> Instant {
        self.free.get(stream.0).copied().unwrap_or(Instant::START)
    }

    /// # Panics
    /// If the host does it.
    pub fn stream_of(&self, op: OpId) -> StreamId {
        self.ops[op].stream.expect("what is waited for is in a stream")
    }

    /// Issues all calls, with the waits between them, and waits for all streams in the end.
    pub fn issue(self, builder: &mut Builder<'_>) {
        let streams = builder.program.streams.len();
        let (waits, last) = Order::new(streams, self.ops.len()).follow(&self.ops);
        let mut awaited = vec![false; self.ops.len()];
        for wait in waits.iter().flatten() {
            if let Awaited::Event(op) = wait {
                awaited[*op] = true;
            }
        }
        let mut events: Vec<Option<EventId>> = Vec::with_capacity(self.ops.len());
        for ((Op { stream, calls, .. }, waits), is_awaited) in
            self.ops.into_iter().zip(waits).zip(awaited)
        {
            let event = |op: OpId| events[op].expect("recorded behind the operation");
            for wait in waits {
                match (wait, stream) {
                    (Awaited::Event(op), Some(stream)) => builder.wait(stream, event(op)),
                    (Awaited::Event(op), None) => builder.synchronize_event(event(op)),
                    (Awaited::Stream(stream), _) => builder.synchronize(stream),
                }
            }
            calls.into_iter().for_each(|call| builder.issue(call));
            events.push(stream.filter(|_| is_awaited).map(|stream| builder.record(stream)));
        }
        last.into_iter().for_each(|stream| builder.synchronize(stream));
    }
}

/// Walks through the operations and knows what each comes after.
struct Order {
    /// One of each stream and, last, the host's.
    clocks: Vec<Clock>,
    /// What is known to be done once an operation is.
    done: Vec<Clock>,
    /// The stream of each operation and its number there, from 1; nothing of the host's.
    numbers: Vec<(usize, usize)>,
}

impl Order {
    fn new(streams: usize, ops: usize) -> Self {
        let clocks = vec![vec![0; streams]; streams + 1];
        Self { clocks, done: Vec::with_capacity(ops), numbers: Vec::with_capacity(ops) }
    }

    /// What to wait for before each operation, and the streams to wait for in the end.
    fn follow(mut self, ops: &[Op]) -> (Vec<Vec<Awaited>>, Vec<StreamId>) {
        let host = self.clocks.len() - 1;
        let mut waits = Vec::with_capacity(ops.len());
        for Op { stream, after, .. } in ops {
            let lane = stream.map_or(host, |stream| stream.0);
            if stream.is_some() {
                self.learn(lane, host);
            }
            let missing = self.missing(lane, after);
            for &op in &missing {
                join(&mut self.clocks[lane], &self.done[op]);
            }
            let clock = &mut self.clocks[lane];
            let mut number = 0;
            if stream.is_some() {
                clock[lane] += 1;
                number = clock[lane];
            }
            self.numbers.push((lane, number));
            self.done.push(clock.clone());
            let awaited = |op| match stream {
                Some(_) => Awaited::Event(op),
                None => self.by_host(op),
            };
            waits.push(missing.into_iter().map(awaited).collect());
        }
        let last = self.unfinished();
        (waits, last)
    }

    fn learn(&mut self, stream: usize, from: usize) {
        let known = self.clocks[from].clone();
        join(&mut self.clocks[stream], &known);
    }

    /// The operations of `after` that a lane has to wait for: it does not know that they are done,
    /// and no other of them comes after them.
    fn missing(&self, lane: usize, after: &[OpId]) -> Vec<OpId> {
        let knows = |clock: &Clock, op: OpId| {
            let (stream, number) = self.numbers[op];
            clock[stream] >= number
        };
        let mut missing: Vec<OpId> = Vec::new();
        let mut sorted = after.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // What comes later is the more likely to imply the others.
        for &op in sorted.iter().rev() {
            let is_implied = missing.iter().any(|&other| knows(&self.done[other], op));
            if !knows(&self.clocks[lane], op) && !is_implied {
                missing.push(op);
            }
        }
        missing.reverse();
        missing
    }

    fn by_host(&self, op: OpId) -> Awaited {
        let (stream, number) = self.numbers[op];
        let is_last = self.clocks[stream][stream] == number;
        if is_last { Awaited::Stream(StreamId(stream)) } else { Awaited::Event(op) }
    }

    /// The fewest streams for which the host has to wait so that all are done.
    fn unfinished(&mut self) -> Vec<StreamId> {
        let host = self.clocks.len() - 1;
        let is_done =
            |clock: &Clock, stream: usize, of: &[Clock]| clock[stream] >= of[stream][stream];
        let open: Vec<usize> = (0..host)
            .filter(|&stream| !is_done(&self.clocks[host], stream, &self.clocks))
            .collect();
        let is_needed = |&stream: &usize| {
            let others = open.iter().filter(|&&other| other != stream);
            !others.clone().any(|&other| {
                is_done(&self.clocks[other], stream, &self.clocks)
                    // Both are waited for if each implies the other: one of them has to be.
                    && !is_done(&self.clocks[stream], other, &self.clocks)
            })
        };
        open.iter().copied().filter(is_needed).map(StreamId).collect()
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// The streams of one device, made when they are first used.
#[derive(Default)]
struct Of {
    /// For copies, by their way.
    copies: [Option<StreamId>; 3],
    /// Each with the time of its last kernel.
    kernels: Vec<(StreamId, usize)>,
}

impl Of {
    /// The stream that had a kernel last, among those that a kernel waits for.
    fn to_join(&self, after: &[StreamId]) -> Option<StreamId> {
        let behind = self.kernels.iter().filter(|(stream, _)| after.contains(stream));
        behind.max_by_key(|(_, last)| *last).map(|&(stream, _)| stream)
    }

    /// The stream that had something last, among those that have nothing to do at a time.
    fn idle_at(&self, issue: &Issue, at: Instant) -> Option<StreamId> {
        let free = self.kernels.iter().filter(|&&(stream, _)| issue.free_at(stream) <= at);
        free.max_by_key(|&&(stream, last)| (issue.free_at(stream), last)).map(|&(stream, _)| stream)
    }
}

/// Where copies go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    ToDevice,
    FromDevice,
    ToOtherDevices,
}

/// How work is dealt over the streams of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Layout {
    /// Streams for kernels.
    pub kernels: usize,
    /// Whether copies to the device, and from it, have streams of their own. Otherwise they go into
    /// the first one for kernels, which needs no events.
    pub apart: [bool; 2],
    /// Whether a kernel goes into a stream that has nothing to do when it can begin. Otherwise it
    /// joins the stream of what it waits for.
    pub by_time: bool,
}

impl Layout {
    const BY_WAITS: [Self; 6] = [
        Self { kernels: 1, apart: [true, true], by_time: false },
        Self { kernels: 2, apart: [true, true], by_time: false },
        Self { kernels: 4, apart: [true, true], by_time: false },
        Self { kernels: 1, apart: [false, false], by_time: false },
        Self { kernels: 1, apart: [true, false], by_time: false },
        Self { kernels: 1, apart: [false, true], by_time: false },
    ];
    const BY_TIME: [Self; 5] =
        [Self::over(2), Self::over(4), Self::over(8), Self::over(16), Self::over(32)];

    /// Kernels over so many streams, by time.
    pub const fn over(kernels: usize) -> Self {
        Self { kernels, apart: [true, true], by_time: true }
    }

    /// The layouts to try where so many kernels fit side by side: more streams gain nothing.
    pub fn all(side_by_side: usize) -> Vec<Self> {
        let fits = |layout: &Self| layout.kernels / 2 < side_by_side && side_by_side > 1;
        Self::BY_WAITS.into_iter().chain(Self::BY_TIME.into_iter().filter(fits)).collect()
    }
}

/// The most streams for kernels of a device.
pub(super) const MOST_STREAMS: usize = 32;

pub(super) struct Streams {
    layout: Layout,
    of: Vec<Of>,
    /// Counts kernels.
    now: usize,
}

impl Streams {
    pub const fn new(layout: Layout) -> Self {
        Self { layout, of: Vec::new(), now: 0 }
    }

    fn of(&mut self, device: usize) -> &mut Of {
        while self.of.len() <= device {
            self.of.push(Of::default());
        }
        &mut self.of[device]
    }

    /// The stream for a device's copies.
    pub fn for_copies(&mut self, builder: &mut Builder<'_>, device: usize, link: Link) -> StreamId {
        let [to, from] = self.layout.apart;
        let is_apart = [to, from, true][link as usize];
        let of = self.of(device);
        if is_apart {
            let make = || builder.stream_on(DeviceId(device));
            return *of.copies[link as usize].get_or_insert_with(make);
        }
        if of.kernels.is_empty() {
            of.kernels.push((builder.stream_on(DeviceId(device)), 0));
        }
        of.kernels[0].0
    }

    /// The stream for a kernel that comes after other operations.
    pub fn for_kernel(
        &mut self,
        builder: &mut Builder<'_>,
        device: usize,
        (issue, after): (&Issue, &[OpId]),
    ) -> StreamId {
        let most = self.layout.kernels;
        let by_time = self.layout.by_time;
        let of = self.of(device);
        let found = if by_time {
            of.idle_at(issue, issue.ready(after))
        } else {
            let awaited: Vec<_> = after.iter().map(|&op| issue.stream_of(op)).collect();
            of.to_join(&awaited)
        };
        if let Some(stream) = found {
            return stream;
        }
        if of.kernels.len() < most {
            let stream = builder.stream_on(DeviceId(device));
            of.kernels.push((stream, 0));
            return stream;
        }
        let key =
            |&&(stream, last): &&(StreamId, usize)| (by_time.then(|| issue.free_at(stream)), last);
        of.kernels.iter().min_by_key(key).expect("there is one").0
    }

    /// Notes that a kernel was issued.
    pub fn issued(&mut self, stream: StreamId) {
        self.now += 1;
        for of in &mut self.of {
            for (known, last) in &mut of.kernels {
                if *known == stream {
                    *last = self.now;
                }
            }
        }
    }
}
