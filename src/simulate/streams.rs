//! Stream order, events and hand-overs.
//!
//! A stream is a FIFO: an operation is at its head once the one before it has
//! ended. Going from one operation to a dependent one that is there and waits
//! costs a hand-over, which depends on the kinds of both, on whether they
//! share the stream, and on whether the second is the first of its kind there.

use super::operation::{Ending, Operation, OperationId, Work};
use crate::plan::{Direction, StreamId};
use crate::profile::{OperationKind, Profile};
use crate::units::{Instant, Span};
use std::collections::VecDeque;

#[derive(Default)]
struct Stream {
    waiting: VecDeque<OperationId>,
    /// The head has been given to its engine.
    running: bool,
    /// The last operation that ended here.
    last: Option<Ending>,
    /// What the next operation must follow besides: events that were waited for.
    awaited: Vec<Ending>,
    /// Kinds of operations that were issued since the stream was last empty.
    seen: [bool; 3],
    /// How many kernels are waiting or running.
    kernels: usize,
}

impl Stream {
    /// Whether the device has to look after this stream from time to time: it
    /// has a kernel that waits for something else than a kernel before it.
    fn is_polled(&self, operations: &[Operation]) -> bool {
        let head = self.waiting.front().map(|&head| operations[head].work.kind());
        self.kernels > 0 && head != Some(Some(OperationKind::Kernel))
    }
}

/// One recording of an event. A wait is for the latest one issued before it,
/// whatever becomes of the event later (CUDA Driver API, `cuStreamWaitEvent`).
#[derive(Default)]
struct Recording {
    /// `None` until its stream has come to it.
    ending: Option<Ending>,
    /// Streams whose head waits for it.
    waiters: Vec<StreamId>,
}

pub(super) struct Streams<'p> {
    profile: &'p Profile,
    streams: Vec<Stream>,
    recordings: Vec<Recording>,
    /// For each event, its latest recording.
    latest: Vec<Option<usize>>,
    /// For each operation, the recording that it makes or waits for. A wait for
    /// an event never recorded waits for nothing.
    concerns: Vec<Option<usize>>,
    /// For each operation, whether it is the first of its kind since its stream
    /// was empty.
    is_first: Vec<bool>,
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
    fn is(self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::CopyIn => self.copies[Direction::HostToDevice as usize],
            OperationKind::CopyOut => self.copies[Direction::DeviceToHost as usize],
            OperationKind::Kernel => self.processors,
        }
    }
}

/// An operation that may start at a time.
pub(super) type Ready = (Instant, OperationId);

impl<'p> Streams<'p> {
    pub fn new(profile: &'p Profile, streams: usize, events: usize) -> Self {
        Self {
            profile,
            streams: (0..streams).map(|_| Stream::default()).collect(),
            recordings: Vec::new(),
            latest: vec![None; events],
            concerns: Vec::new(),
            is_first: Vec::new(),
            busy: Busy::default(),
        }
    }

    pub fn is_drained(&self, stream: StreamId) -> bool {
        self.streams[stream.0].waiting.is_empty()
    }

    /// The host has issued an operation.
    pub fn push(&mut self, operations: &[Operation], id: OperationId, ready: &mut Vec<Ready>) {
        debug_assert_eq!(id, self.concerns.len(), "operations come in the order of their ids");
        let operation = &operations[id];
        if let Work::Record(event) = operation.work {
            self.latest[event.0] = Some(self.recordings.len());
            self.recordings.push(Recording::default());
        }
        self.concerns.push(match operation.work {
            Work::Record(event) | Work::Wait(event) => self.latest[event.0],
            _ => None,
        });
        let stream = &mut self.streams[operation.stream.0];
        if stream.waiting.is_empty() {
            stream.seen = [false; 3];
        }
        stream.kernels += usize::from(operation.work.kind() == Some(OperationKind::Kernel));
        let seen = operation.work.kind().map(|kind| &mut stream.seen[kind as usize]);
        self.is_first.push(seen.is_some_and(|seen| !std::mem::replace(seen, true)));
        stream.waiting.push_back(id);
        self.advance(operations, operation.stream, ready);
    }

    /// The operation at the head of a stream has ended.
    pub fn end(
        &mut self,
        operations: &[Operation],
        id: OperationId,
        time: Instant,
        ready: &mut Vec<Ready>,
    ) {
        let operation = &operations[id];
        let stream = &mut self.streams[operation.stream.0];
        let head = stream.waiting.pop_front();
        debug_assert_eq!(head, Some(id), "only the head of a stream runs");
        stream.running = false;
        stream.kernels -= usize::from(operation.work.kind() == Some(OperationKind::Kernel));
        stream.last = Some(Ending { time, kind: operation.work.kind() });
        self.advance(operations, operation.stream, ready);
    }

    /// Starts the head of a stream if it can; passes over events that are done.
    fn advance(&mut self, operations: &[Operation], id: StreamId, ready: &mut Vec<Ready>) {
        // A reached event may set other streams free, and those others again.
        let mut to_do = vec![id];
        while let Some(id) = to_do.pop() {
            while let Some(&head) = self.streams[id.0].waiting.front() {
                if self.streams[id.0].running {
                    break;
                }
                match operations[head].work {
                    Work::Record(_) => to_do.append(&mut self.reach(operations, head)),
                    Work::Wait(_) => {
                        if !self.pass(operations, head) {
                            break;
                        }
                    }
                    _ => self.start(operations, head, ready),
                }
            }
        }
    }

    /// Takes a record off the stream; gives the streams that waited for it.
    fn reach(&mut self, operations: &[Operation], id: OperationId) -> Vec<StreamId> {
        let operation = &operations[id];
        let stream = &mut self.streams[operation.stream.0];
        stream.waiting.pop_front();
        let ending = match stream.last {
            Some(last) if last.time >= operation.arrives => last,
            Some(last) => Ending { time: operation.arrives, ..last },
            None => Ending { time: operation.arrives, kind: None },
        };
        // What the stream itself still has to follow, its waiters have to as well.
        let latest =
            stream.awaited.iter().copied().fold(ending, |latest, other| {
                if other.time > latest.time { other } else { latest }
            });
        let recording = self.concerns[id].expect("a record makes a recording");
        let recording = &mut self.recordings[recording];
        recording.ending = Some(latest);
        std::mem::take(&mut recording.waiters)
    }

    /// Takes a wait off the stream if what it waits for has happened.
    fn pass(&mut self, operations: &[Operation], id: OperationId) -> bool {
        let stream = operations[id].stream;
        if let Some(recording) = self.concerns[id] {
            let recording = &mut self.recordings[recording];
            let Some(ending) = recording.ending else {
                if !recording.waiters.contains(&stream) {
                    recording.waiters.push(stream);
                }
                return false;
            };
            self.streams[stream.0].awaited.push(ending);
        }
        self.streams[stream.0].waiting.pop_front();
        true
    }

    fn start(&mut self, operations: &[Operation], id: OperationId, ready: &mut Vec<Ready>) {
        let operation = &operations[id];
        let to = operation.work.kind().expect("events are handled before");
        let polled = || {
            let others = self.streams.iter().filter(|stream| stream.is_polled(operations));
            self.profile.polling(others.count(), self.busy.copies)
        };
        let hand_over = |from: Ending, across: bool| {
            let idle = from.kind.filter(|_| !self.busy.is(to));
            let found = idle.and_then(|kind| self.profile.hand_over(kind, to, across));
            let cost = match found {
                Some(hand_over) if self.is_first[id] => hand_over.first.ns,
                Some(hand_over) => hand_over.queued.ns,
                None if from.kind == Some(to) && to == OperationKind::Kernel => polled(),
                None => 0.0,
            };
            from.time + Span::from_nanos_f64(cost.max(0.0) * operation.waits_for(from.time))
        };
        let stream = &self.streams[operation.stream.0];
        let own = stream.last.map(|last| hand_over(last, false));
        let others = stream.awaited.iter().map(|&event| hand_over(event, true));
        let time = others.chain(own).fold(operation.arrives, Instant::max);
        let stream = &mut self.streams[operation.stream.0];
        stream.awaited.clear();
        stream.running = true;
        ready.push((time, id));
    }
}
