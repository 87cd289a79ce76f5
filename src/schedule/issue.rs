//! Operations in streams, and the fewest events that order them.
//!
//! A scheduler says what each operation comes after. What the streams, and waits before, imply
//! already is not waited for again; an event is recorded only behind what somebody waits for.

use crate::families::Builder;
use crate::machine::StreamId;
use crate::program::{Call, EventId};

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
}

/// What is waited for right before an operation: an event behind an operation, or, if nothing comes
/// behind it in its stream so far, by the host the stream itself.
#[derive(Clone, Copy)]
enum Awaited {
    Event(OpId),
    Stream(StreamId),
}

impl Issue {
    pub fn push(&mut self, stream: StreamId, calls: Vec<Call>, after: Vec<OpId>) -> OpId {
        self.ops.push(Op { stream: Some(stream), calls, after });
        self.ops.len() - 1
    }

    pub fn on_host(&mut self, calls: Vec<Call>, after: Vec<OpId>) {
        self.ops.push(Op { stream: None, calls, after });
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
