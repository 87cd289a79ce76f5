//! What is done before what: the order that streams, events and synchronisations give to calls.

use super::call::Call;
use super::graph::Lanes;
use super::operands::{Awaited, EventId, StreamKind, StreamTraits, ThreadId};
use super::value::Program;

/// For each lane (a stream, a branch of a graph or, last, a host thread), how many of its
/// operations are known to be finished (Lamport 1978; Fidge 1988, Mattern 1989). A host
/// thread counts the calls that are known to have been made.
pub type Clock = Vec<usize>;

/// Walks through the calls of a body and knows what each comes after.
pub struct Order<'p> {
    program: &'p Program,
    lanes: Lanes<'p>,
    /// The lane of the first host thread.
    host: usize,
    clocks: Vec<Clock>,
    /// What was done when each event was last recorded.
    events: Vec<Option<Clock>>,
    /// The last call that put something into each stream: its thread, and its number there.
    put: Vec<Option<(usize, usize)>>,
    /// Whether a stream is a barrier for others.
    has_barrier: bool,
    next: usize,
}

/// A call that has been walked past.
pub struct Passed<'o> {
    pub lane: usize,
    /// Its number among the operations of its lane, from 1; `None` if it does nothing itself.
    pub number: Option<usize>,
    /// What is done when it begins, and itself.
    pub known: &'o Clock,
}

impl<'p> Order<'p> {
    pub fn new(program: &'p Program) -> Self {
        let lanes = program.lanes();
        let host = lanes.count();
        let all = host + program.thread_count();
        let is_legacy = |stream: &StreamTraits| stream.kind == StreamKind::LegacyDefault;
        Self {
            program,
            lanes,
            host,
            clocks: vec![vec![0; all]; all],
            events: vec![None; program.events],
            put: vec![None; program.streams.len()],
            has_barrier: program.streams.iter().any(is_legacy),
            next: 0,
        }
    }

    /// What all host threads that make calls know to be done after the calls so far.
    pub fn known_to_all(&self) -> Clock {
        let threads = &self.program.threads;
        let makes_calls = |id: usize| threads.is_empty() || threads.contains(&ThreadId(id as u16));
        let hosts = self.clocks[self.host..].iter().enumerate();
        let mut hosts = hosts.filter(|(id, _)| makes_calls(*id)).map(|(_, known)| known);
        let mut all = hosts.next().cloned().unwrap_or_default();
        for known in hosts {
            all.iter_mut().zip(known).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
        }
        all
    }

    /// How many calls a host thread has made so far.
    pub fn made(&self, thread: usize) -> usize {
        self.clocks[self.host + thread][self.host + thread]
    }

    /// Whether a host thread knows that another one has made so many calls, after the calls so far.
    pub fn knows_made(&self, thread: usize, other: usize, number: usize) -> bool {
        self.clocks[self.host + thread][self.host + other] >= number
    }

    /// The lanes with operations that no host thread knows to be done after the calls so far.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> {
        let is_known = |lane: usize, all: usize| {
            self.clocks[self.host..].iter().any(|known| known[lane] >= all)
        };
        let lanes = self.clocks[..self.host].iter().enumerate();
        lanes.filter(move |(lane, clock)| !is_known(*lane, clock[*lane])).map(|(lane, _)| lane)
    }

    /// A lane comes to know that some operations are done.
    pub(super) fn learn_clock(&mut self, lane: usize, clock: &Clock) {
        join(&mut self.clocks[lane], clock);
    }

    /// Walks past the next call of the body.
    pub fn pass(&mut self) -> Option<(&'p Call, Passed<'_>)> {
        let call = self.program.body.get(self.next)?;
        let thread = usize::from(self.program.thread_of(self.next).0);
        let host = self.host + thread;
        let lane = self.lanes.lane_of(self.next).unwrap_or(host);
        self.next += 1;
        self.clocks[host][host] += 1;
        let made = self.clocks[host][host];
        let mut number = None;
        let awaited = call.awaited();
        if awaited.is_none() {
            // A call comes after everything that its thread has waited for before it.
            self.learn(lane, host);
            if self.has_barrier {
                self.pass_barrier(lane);
            }
            if let Some(put) = self.put.get_mut(lane) {
                *put = Some((thread, made));
            }
        }
        if let Some(awaited) = awaited {
            self.wait(thread, lane, awaited);
        } else if let Some(event) = call.recorded() {
            match &mut self.events[event.0] {
                Some(before) => before.clone_from(&self.clocks[lane]),
                none => *none = Some(self.clocks[lane].clone()),
            }
        } else if let Some(event) = call.stream_waits_for() {
            self.join_record(lane, event);
        } else if lane == host {
            number = Some(made);
        } else {
            self.clocks[lane][lane] += 1;
            number = Some(self.clocks[lane][lane]);
        }
        Some((call, Passed { lane, number, known: &self.clocks[lane] }))
    }

    /// A host thread waits, in a call about a lane.
    fn wait(&mut self, thread: usize, lane: usize, awaited: Awaited) {
        let host = self.host + thread;
        match awaited {
            Awaited::Stream(_) => self.learn(host, lane),
            Awaited::Event(event) => self.join_record(host, event),
            Awaited::Device(device) => {
                let streams = self.program.streams.iter().enumerate();
                let here = streams.filter(|(_, stream)| stream.device == device);
                let here = here.map(|(lane, _)| lane);
                let issued: Vec<usize> =
                    here.filter(|&lane| self.is_issued_for(thread, lane)).collect();
                issued.into_iter().for_each(|lane| self.learn(host, lane));
            }
            Awaited::Thread(other) => self.learn(host, self.host + usize::from(other.0)),
        }
    }

    /// A lane comes to know what was done when an event was last recorded. Waiting for an event
    /// that was never recorded orders nothing.
    fn join_record(&mut self, lane: usize, event: EventId) {
        if let Some(clock) = &self.events[event.0] {
            join(&mut self.clocks[lane], clock);
        }
    }

    /// Whether a host thread knows that everything in a stream so far was issued.
    fn is_issued_for(&self, thread: usize, stream: usize) -> bool {
        self.put[stream].is_none_or(|(other, made)| self.knows_made(thread, other, made))
    }

    /// Orders calls by the legacy default stream: its operations come after all in blocking
    /// streams, and theirs after all of its own.
    fn pass_barrier(&mut self, lane: usize) {
        let Some(mine) = self.program.streams.get(lane) else { return };
        for (other, theirs) in self.program.streams.iter().enumerate() {
            if mine.waits_for(theirs) {
                self.learn(lane, other);
            }
        }
    }

    /// Whatever one lane knows to be done, another knows, too.
    fn learn(&mut self, lane: usize, from: usize) {
        if let Ok([mine, theirs]) = self.clocks.get_disjoint_mut([lane, from]) {
            join(mine, theirs);
        }
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
