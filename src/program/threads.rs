//! Host threads: who makes which call, and in which order calls of different threads are made.
//!
//! Each thread makes its calls in their order. All begin with the pass, which ends when all have
//! ended. Nothing else orders the calls of two threads but [`Awaited::Thread`], and what a
//! thread waits for on the device. What a stream does depends on the order in which calls are
//! issued to it, and what a wait waits for on the latest record before it. So two threads may only
//! use one stream or one event if it is known which of them comes first: the order of the body is
//! then the order of every run. Threads but the main one are numbered by their first calls.

use super::operands::{Awaited, EventId, ThreadId};
use super::order::Order;
use super::problem::{Part, Problem};
use super::value::Program;
use crate::machine::StreamId;

/// The hazard check compares each thread with each.
pub const MOST_THREADS: usize = 64;

impl Program {
    /// The host thread that makes a call of the body.
    pub fn thread_of(&self, call: usize) -> ThreadId {
        self.threads.get(call).copied().unwrap_or(ThreadId::MAIN)
    }

    /// How many host threads make calls of the body.
    pub fn thread_count(&self) -> usize {
        self.threads.iter().max().map_or(1, |last| usize::from(last.0) + 1)
    }

    /// What is wrong with who makes which call.
    pub(super) fn wrong_threads(&self) -> Option<Problem> {
        let (calls, named) = (self.body.len(), self.threads.len());
        if named != 0 && named != calls {
            return Some(format!("threads: {named} entries for {calls} calls").into());
        }
        let threads = self.thread_count();
        if threads > MOST_THREADS {
            let what = format!("threads: {threads}; the limit is {MOST_THREADS}");
            return Some(what.into());
        }
        let mut next = ThreadId::MAIN.0;
        for thread in &self.threads {
            if thread.0 > next + 1 {
                let what = format!("threads: {} appears before {} does", thread.0, next + 1);
                return Some(what.into());
            }
            next = next.max(thread.0);
        }
        let wrong_wait = self.first_in_calls(|part, at, call| {
            let Some(Awaited::Thread(awaited)) = call.awaited() else { return None };
            let what = match part {
                Part::Setup => "waits for a thread in the set-up, which only the main thread runs",
                Part::Body if usize::from(awaited.0) >= threads => {
                    return Some(format!(
                        "waits for host thread {}, which makes no calls",
                        awaited.0
                    ));
                }
                Part::Body if awaited == self.thread_of(at) => "is made by the thread it waits for",
                Part::Body => return None,
            };
            Some(what.to_owned())
        });
        wrong_wait.or_else(|| {
            self.graphs().find_map(|mut graph| {
                let launching = self.thread_of(graph.launch);
                let at = graph.calls.find(|&at| self.thread_of(at) != launching)?;
                let what = "is in a graph launched by another host thread";
                Some(Problem::of_call(Part::Body, at, what))
            })
        })
    }
}

/// What two host threads must not use without an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    Stream(StreamId),
    Event(EventId),
}

/// A call: the thread that makes it, its number among the calls of that thread, and its place in
/// the body.
type Made = (usize, usize, usize);

/// The calls of several threads that the next one has to come after, for each stream and event.
pub(super) struct Issue<'p> {
    program: &'p Program,
    /// The last call that put something into each stream.
    put: Vec<Option<Made>>,
    recorded: Vec<Option<Made>>,
    /// For each event, the last call of each thread that waits for its latest record.
    waiting: Vec<Vec<Made>>,
}

impl<'p> Issue<'p> {
    /// `None` for a program of one thread, where there is nothing to check.
    pub fn of_threads(program: &'p Program) -> Option<Self> {
        (program.thread_count() > 1).then(|| Self {
            program,
            put: vec![None; program.streams.len()],
            recorded: vec![None; program.events],
            waiting: vec![Vec::new(); program.events],
        })
    }

    /// Walks past the call that the order comes to next. Returns an earlier one of another thread
    /// that may come later than this one, and what both use.
    pub fn pass(&mut self, at: usize, order: &Order<'_>) -> Option<(usize, Shared)> {
        let call = self.program.body.get(at)?;
        let thread = usize::from(self.program.thread_of(at).0);
        let comes_after = |&(other, number, _): &Made| order.knows_made(thread, other, number);
        let made = (thread, order.made(thread) + 1, at);
        if let Some(stream) = call.stream() {
            let mine = self.program.streams[stream.0];
            let others = self.program.streams.iter().enumerate();
            let meant = others.filter(|&(id, one)| id == stream.0 || mine.waits_for(one));
            let before = meant.filter_map(|(id, _)| self.put[id]);
            if let Some((.., first)) = before.into_iter().find(|one| !comes_after(one)) {
                return Some((first, Shared::Stream(stream)));
            }
            if !call.only_waits() {
                self.put[stream.0] = Some(made);
            }
        }
        let event = call.event()?;
        let waiting = &mut self.waiting[event.0];
        let is_record = call.recorded().is_some();
        let before = waiting.iter().filter(|_| is_record).chain(&self.recorded[event.0]);
        if let Some(&(.., first)) = before.into_iter().find(|one| !comes_after(one)) {
            return Some((first, Shared::Event(event)));
        }
        if is_record {
            waiting.clear();
            self.recorded[event.0] = Some(made);
        } else {
            waiting.retain(|one| one.0 != thread);
            waiting.push(made);
        }
        None
    }
}
