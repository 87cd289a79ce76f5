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

struct Op {
    stream: StreamId,
    calls: Vec<Call>,
    after: Vec<OpId>,
}

enum Entry {
    Operation(OpId),
    /// What the host does by itself, after some operations.
    Host {
        calls: Vec<Call>,
        after: Vec<OpId>,
    },
}

/// Calls in the order of issue.
#[derive(Default)]
pub(super) struct Issue {
    ops: Vec<Op>,
    entries: Vec<Entry>,
}

/// What is waited for right before an entry: an event behind an operation, or, if nothing comes
/// behind it in its stream so far, by the host the stream itself.
#[derive(Clone, Copy)]
enum Awaited {
    Event(OpId),
    Stream(StreamId),
}

impl Issue {
    pub fn push(&mut self, stream: StreamId, calls: Vec<Call>, after: Vec<OpId>) -> OpId {
        let op = self.ops.len();
        self.ops.push(Op { stream, calls, after });
        self.entries.push(Entry::Operation(op));
        op
    }

    pub fn on_host(&mut self, calls: Vec<Call>, after: Vec<OpId>) {
        self.entries.push(Entry::Host { calls, after });
    }

    pub fn stream_of(&self, op: OpId) -> StreamId {
        self.ops[op].stream
    }

    /// Issues all calls, with the waits between them, and waits for all streams in the end.
    pub fn issue(self, builder: &mut Builder<'_>) {
        let streams = builder.program.streams.len();
        let (waits, last) = Order::new(streams, self.ops.len()).follow(&self);
        let mut awaited = vec![false; self.ops.len()];
        for wait in waits.iter().flatten() {
            if let Awaited::Event(op) = wait {
                awaited[*op] = true;
            }
        }
        let mut events: Vec<Option<EventId>> = vec![None; self.ops.len()];
        let Self { ops, entries } = self;
        let mut ops: Vec<Option<Op>> = ops.into_iter().map(Some).collect();
        for (entry, waits) in entries.into_iter().zip(waits) {
            match entry {
                Entry::Operation(id) => {
                    let Op { stream, calls, .. } = ops[id].take().expect("issued once");
                    for wait in waits {
                        let Awaited::Event(op) = wait else { continue };
                        let event = events[op].expect("recorded behind the operation");
                        builder.wait(stream, event);
                    }
                    calls.into_iter().for_each(|call| builder.issue(call));
                    events[id] = awaited[id].then(|| builder.record(stream));
                }
                Entry::Host { calls, .. } => {
                    for wait in waits {
                        match wait {
                            Awaited::Stream(stream) => builder.synchronize(stream),
                            Awaited::Event(op) => {
                                let event = events[op].expect("recorded behind the operation");
                                builder.synchronize_event(event);
                            }
                        }
                    }
                    calls.into_iter().for_each(|call| builder.issue(call));
                }
            }
        }
        last.into_iter().for_each(|stream| builder.synchronize(stream));
    }
}

/// Walks through the entries and knows what each comes after.
struct Order {
    /// One of each stream and, last, the host's.
    clocks: Vec<Clock>,
    /// What is known to be done once an operation is.
    done: Vec<Clock>,
    /// The stream of each operation and its number there, from 1.
    numbers: Vec<(usize, usize)>,
}

impl Order {
    fn new(streams: usize, ops: usize) -> Self {
        let clocks = vec![vec![0; streams]; streams + 1];
        Self { clocks, done: Vec::with_capacity(ops), numbers: Vec::with_capacity(ops) }
    }

    /// What to wait for before each entry, and the streams to wait for in the end.
    fn follow(mut self, issue: &Issue) -> (Vec<Vec<Awaited>>, Vec<StreamId>) {
        let host = self.clocks.len() - 1;
        let mut waits = Vec::with_capacity(issue.entries.len());
        for entry in &issue.entries {
            waits.push(match entry {
                Entry::Operation(id) => {
                    let Op { stream, after, .. } = &issue.ops[*id];
                    self.learn(stream.0, host);
                    let missing = self.missing(stream.0, after);
                    for &op in &missing {
                        join(&mut self.clocks[stream.0], &self.done[op]);
                    }
                    let clock = &mut self.clocks[stream.0];
                    clock[stream.0] += 1;
                    self.numbers.push((stream.0, clock[stream.0]));
                    self.done.push(clock.clone());
                    missing.into_iter().map(Awaited::Event).collect()
                }
                Entry::Host { after, .. } => {
                    let missing = self.missing(host, after);
                    for &op in &missing {
                        join(&mut self.clocks[host], &self.done[op]);
                    }
                    missing.into_iter().map(|op| self.by_host(op)).collect::<Vec<_>>()
                }
            });
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
