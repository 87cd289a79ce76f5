//! What is done before what: the order that streams, events and synchronisations give to calls.

use super::call::Call;
use super::value::Program;

/// For each lane (a stream, a branch of a graph or, last, the host), how many of its operations are
/// known to be finished (Lamport 1978; Fidge 1988, Mattern 1989).
pub type Clock = Vec<usize>;

/// Walks through the calls of a body and knows what each comes after.
pub struct Order<'p> {
    program: &'p Program,
    lanes: Vec<Option<usize>>,
    clocks: Vec<Clock>,
    /// What was done when each event was last recorded.
    events: Vec<Option<Clock>>,
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
        let lanes = program.lane_count() + 1;
        let (clocks, events) = (vec![vec![0; lanes]; lanes], vec![None; program.events]);
        Self { program, lanes: program.lanes(), clocks, events, next: 0 }
    }

    /// The lane of the host.
    pub fn host(&self) -> usize {
        self.clocks.len() - 1
    }

    /// What the host knows to be done after the calls so far.
    pub fn known_to_host(&self) -> &Clock {
        &self.clocks[self.host()]
    }

    /// How many operations each lane has so far.
    pub fn issued(&self) -> impl Iterator<Item = usize> {
        self.clocks.iter().enumerate().map(|(lane, clock)| clock[lane])
    }

    /// Walks past the next call of the body.
    pub fn pass(&mut self) -> Option<(&'p Call, Passed<'_>)> {
        let call = self.program.body.get(self.next)?;
        let host = self.host();
        let lane = self.lanes[self.next].unwrap_or(host);
        self.next += 1;
        // A call comes after everything that the host has waited for before it.
        self.learn(lane, host);
        if !call.facts().only_waits {
            self.pass_barrier(lane);
        }
        let mut number = None;
        match call {
            Call::Record { event, .. } => self.events[event.0] = Some(self.clocks[lane].clone()),
            Call::Wait { event, .. } => {
                // Waiting for an event that was never recorded orders nothing.
                if let Some(clock) = &self.events[event.0] {
                    join(&mut self.clocks[lane], clock);
                }
            }
            Call::Synchronize { .. } => self.learn(host, lane),
            Call::SynchronizeEvent { event } => {
                if let Some(clock) = &self.events[event.0] {
                    join(&mut self.clocks[host], clock);
                }
            }
            Call::SynchronizeDevice(device) => {
                let of_device = self.program.streams.iter().enumerate();
                for (lane, _) in of_device.filter(|(_, stream)| stream.device == *device) {
                    self.learn(host, lane);
                }
            }
            _ => {
                self.clocks[lane][lane] += 1;
                number = Some(self.clocks[lane][lane]);
            }
        }
        Some((call, Passed { lane, number, known: &self.clocks[lane] }))
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
        if lane != from {
            let known = self.clocks[from].clone();
            join(&mut self.clocks[lane], &known);
        }
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
