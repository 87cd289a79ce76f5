//! Moving time forwards.

use super::copies::{Copies, Ended, Transfer};
use super::cost::{CallCost, costs};
use super::host::{Host, HostState};
use super::operation::{Operation, OperationId, Work};
use super::processors::Processors;
use super::queue::Queue;
use super::streams::{Busy, Ready, Streams};
use crate::plan::{Call, Direction, Plan, StreamId};
use crate::profile::{Profile, Unknown};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::Instant;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The host is done with the active part of its call.
    HostActs,
    /// The host returns from its call.
    HostReturns,
    /// An operation may join its engine.
    Joins(OperationId),
    /// A kernel's gap is over; its blocks may run.
    Dispatches(OperationId),
    /// A staged copy is over.
    Staged(OperationId, Instant),
    /// Idle copy engines choose their next copy.
    Choose,
    /// Something may change among the copies, unless they changed since.
    Copies(u64),
    Processors(u64),
}

/// Predicts one pass over a plan's body on a machine, in steady state.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn simulate(plan: &Plan, profile: &Profile) -> Result<Timeline, Unknown> {
    let costs = costs(plan, profile, &plan.body)?;
    Ok(Engine::new(plan, profile, &costs).run())
}

struct Engine<'a> {
    plan: &'a Plan,
    costs: &'a [CallCost],
    now: Instant,
    queue: Queue<Event>,
    host: Host,
    streams: Streams<'a>,
    copies: Copies,
    processors: Processors,
    operations: Vec<Operation>,
    /// Operations that became ready and are not scheduled yet.
    ready: Vec<Ready>,
    activities: Vec<Activity>,
    /// A copy has ended or become ready.
    choose: bool,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, profile: &'a Profile, costs: &'a [CallCost]) -> Self {
        Self {
            plan,
            costs,
            now: Instant::START,
            queue: Queue::new(),
            host: Host::new(),
            streams: Streams::new(profile, plan.streams, plan.events),
            copies: Copies::new(&profile.link, copying_streams(plan)),
            processors: Processors::default(),
            operations: Vec::with_capacity(plan.body.len()),
            ready: Vec::new(),
            activities: Vec::with_capacity(2 * plan.body.len()),
            choose: false,
        }
    }

    fn run(mut self) -> Timeline {
        self.enter_call();
        while let Some((time, event)) = self.queue.next() {
            self.now = time;
            self.handle(event);
            for (time, id) in std::mem::take(&mut self.ready) {
                self.queue.schedule(time.max(self.now), Event::Joins(id));
            }
            // Behind everything that becomes ready at this very moment.
            if std::mem::take(&mut self.choose) {
                self.queue.schedule(self.now, Event::Choose);
            }
        }
        assert_eq!(self.host.state, HostState::Finished, "a checked plan runs to its end");
        let end = |activity: &Activity| activity.end;
        let makespan = self.activities.iter().map(end).max().unwrap_or_default().since_start();
        self.activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
        Timeline { activities: self.activities, makespan }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::HostActs => self.act(),
            Event::HostReturns => self.return_from_call(),
            Event::Joins(id) => self.join(id),
            Event::Dispatches(id) => {
                if let Work::Kernel { busy, demand, .. } = self.operations[id].work {
                    self.processors.start(self.now, id, busy, demand);
                    self.watch_processors();
                }
            }
            Event::Staged(id, started) => self.finish((id, started, self.now)),
            Event::Copies(epoch) if epoch == self.copies.epoch => {
                while let Some(ended) = self.copies.collect(self.now) {
                    self.finish(ended);
                }
                self.choose = true;
            }
            Event::Choose => {
                self.copies.fill(self.now);
                self.watch_copies();
            }
            Event::Processors(epoch) if epoch == self.processors.epoch => {
                while let Some(ended) = self.processors.collect(self.now) {
                    self.finish(ended);
                }
                self.watch_processors();
            }
            Event::Copies(_) | Event::Processors(_) => {}
        }
    }

    fn enter_call(&mut self) {
        self.host.entered = self.now;
        if self.host.next == self.plan.body.len() {
            self.host.state = HostState::Finished;
            return;
        }
        self.host.state = HostState::Calling;
        let cost = &self.costs[self.host.next];
        self.queue.schedule(self.now + cost.host, Event::HostActs);
    }

    /// The call takes effect: its operation is in the stream.
    fn act(&mut self) {
        let call = self.host.next;
        let cost = &self.costs[call];
        let stream = self.plan.body[call].stream();
        let mut operation = None;
        if let (Some(work), Some(stream)) = (cost.work, stream) {
            let arrives = self.now + cost.latency;
            let id = self.operations.len();
            let issued = self.now;
            self.operations.push(Operation { call, stream, work, issued, arrives });
            operation = Some(id);
            self.streams.busy = self.busy();
            self.streams.push(&self.operations, id, &mut self.ready);
        }
        let drained = stream.map(|stream| (stream, self.streams.is_drained(stream)));
        match Host::after(cost, drained, operation) {
            Some(state) => self.host.state = state,
            None => self.return_from_call(),
        }
    }

    fn return_from_call(&mut self) {
        self.note(Lane::Host, self.host.next, self.host.entered);
        self.host.next += 1;
        self.enter_call();
    }

    fn join(&mut self, id: OperationId) {
        match self.operations[id].work {
            Work::Copy { direction, alone, slowdown } => {
                let stream = self.operations[id].stream;
                self.copies.enqueue(self.now, direction, Transfer { id, stream, alone, slowdown });
                self.choose = true;
            }
            Work::Staged { duration, early, .. } => {
                let end = self.now + duration;
                self.queue.schedule(end, Event::Staged(id, self.now));
                if self.host.state == (HostState::Staging { id }) {
                    let released = self.now + duration.saturating_sub(early);
                    self.host.state = HostState::Calling;
                    self.queue.schedule(released, Event::HostReturns);
                }
            }
            Work::Inline { duration } => {
                let end = self.now + duration;
                self.queue.schedule(end, Event::Staged(id, self.now));
            }
            Work::Kernel { gap, .. } => {
                self.queue.schedule(self.now + gap, Event::Dispatches(id));
            }
            Work::Record(_) | Work::Wait(_) => unreachable!("events never join an engine"),
        }
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    fn finish(&mut self, (id, started, _): Ended) {
        let Operation { call, work, .. } = self.operations[id];
        let lane = match work {
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => Lane::of(direction),
            Work::Inline { .. } => Lane::CopyIn,
            _ => Lane::Kernels,
        };
        self.note(lane, call, started);
        self.streams.busy = self.busy();
        self.streams.end(&self.operations, id, self.now, &mut self.ready);
        // Not only of this stream: an event may have let another one drain.
        if let HostState::Draining { stream, wake } = self.host.state
            && self.streams.is_drained(stream)
        {
            self.host.state = HostState::Calling;
            self.queue.schedule(self.now + wake, Event::HostReturns);
        }
    }

    fn busy(&self) -> Busy {
        Busy { copies: self.copies.busy(), processors: self.processors.is_busy() }
    }

    fn note(&mut self, lane: Lane, call: usize, start: Instant) {
        self.activities.push(Activity { lane, call, start, end: self.now });
    }

    fn watch_copies(&mut self) {
        if let Some(time) = self.copies.next_change() {
            self.queue.schedule(time.max(self.now), Event::Copies(self.copies.epoch));
        }
    }

    fn watch_processors(&mut self) {
        if let Some(time) = self.processors.next_change() {
            self.queue.schedule(time.max(self.now), Event::Processors(self.processors.epoch));
        }
    }
}

/// How many streams copy in, and how many copy out.
fn copying_streams(plan: &Plan) -> [usize; 2] {
    Direction::BOTH.map(|wanted| {
        let mut streams: Vec<StreamId> = (plan.body.iter())
            .filter_map(|call| match call {
                Call::Copy { stream, direction, .. } if *direction == wanted => Some(*stream),
                _ => None,
            })
            .collect();
        streams.sort_unstable();
        streams.dedup();
        streams.len()
    })
}
