//! The naive simulator's state and its steps from event to event, and the host's threads.

use super::engines::{Batch, Engine, KINDS};
use hallway::cost::{CallCost, CompiledProgram, Waits, Work};
use hallway::machine::OperationKind::{self, Kernel};
use hallway::profile::Profile;
use hallway::program::{Graph, Program, StreamKind, StreamTraits, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// The end of what others follow: when it was, which operation's, and on which device.
#[derive(Clone, Copy, Default)]
pub struct Ending {
    pub time: u64,
    pub operation: Option<usize>,
    pub device: usize,
}

/// A call: what it is, and what has happened to it so far.
#[derive(Clone, Copy, Default)]
pub struct Op {
    /// A stream, or behind all streams a branch of a graph.
    pub lane: Option<usize>,
    pub device: usize,
    /// The kind of operation, and that if its data does not travel with its command.
    pub kind: Option<OperationKind>,
    pub usual: Option<OperationKind>,
    /// When the host entered the call, and until when it is busy there or waits.
    pub host: [u64; 2],
    waits: bool,
    pub has_returned: bool,
    pub issued: Option<u64>,
    /// From when polling periods count for an operation that came too early.
    pub polled_from: u64,
    /// When a kernel may start as far as its lane goes, and when its channel lets it.
    pub ready: Option<u64>,
    pub launched: Option<u64>,
    /// Blocks of a kernel that wait for room, and by how much rounding has shortened those before.
    pub blocks: u64,
    pub rest: f64,
    /// Nanoseconds of a copy that are left, of which `speed` pass per nanosecond. How much later it
    /// began for the other direction, what kernels will cost it, and for how long its data is on
    /// the link and is not.
    pub left: f64,
    pub speed: f64,
    pub delayed: f64,
    pub beside_kernels: f64,
    pub data: f64,
    pub fixed: f64,
    /// When a copy came to its engine.
    pub joined: Option<u64>,
    pub started: Option<u64>,
    pub ending: Option<Ending>,
}

type Happens<'p> = fn(&mut Simulator<'p>, usize);

pub struct Simulator<'p> {
    pub program: &'p Program,
    pub profile: &'p Profile,
    pub prices: CompiledProgram<'p>,
    pub graph: Option<Graph>,
    /// What calls cost: copies whose data travels with their command have another cost.
    pub costs: Vec<CallCost>,
    pub traits: Vec<StreamTraits>,
    pub now: u64,
    /// When what happens to which call, in the order in which it was scheduled.
    events: Vec<(u64, Happens<'p>, usize)>,
    pub ops: Vec<Op>,
    /// Calls in the order in which they were issued.
    pub order: Vec<usize>,
    /// When the only host thread last went on after a wait.
    resumed: u64,
    /// Lanes whose heads wait for a record, and those behind the legacy default stream's barrier.
    pub waiting: BTreeMap<usize, Vec<usize>>,
    pub held_back: BTreeSet<usize>,
    /// By device and kind of operation.
    pub engines: Vec<Engine>,
}

impl<'p> Simulator<'p> {
    pub fn new(program: &'p Program, profile: &'p Profile) -> Self {
        let prices = CompiledProgram::new(program, profile).expect("the profile knows all of it");
        let costs = (0..program.body.len()).map(|call| *prices.cost_of(call));
        let costs: Vec<CallCost> = costs.collect();
        let branch = |one: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*one };
        let branches = program.streams.iter().map(branch);
        let traits: Vec<_> = program.streams.iter().copied().chain(branches).collect();
        let op = |(lane, cost): (Option<usize>, &CallCost)| {
            let lane = lane.filter(|_| cost.work != Work::Nothing);
            let (device, kind) =
                (lane.map_or(0, |lane| traits[lane].device.0), kind_of(&cost.work));
            Op { lane, device, kind, usual: kind, ..Op::default() }
        };
        Self {
            ops: program.lanes().iter().zip(&costs).map(op).collect(),
            engines: (0..program.devices() * KINDS).map(|_| Engine::default()).collect(),
            graph: program.graphs().next(),
            program,
            profile,
            prices,
            costs,
            traits,
            now: 0,
            events: Vec::new(),
            order: Vec::new(),
            resumed: 0,
            waiting: BTreeMap::new(),
            held_back: BTreeSet::new(),
        }
    }

    /// Runs the program to its end; returns the makespan.
    pub fn run(&mut self) -> u64 {
        (0..self.program.thread_count()).for_each(|one| self.enter_next(ThreadId(one as u16), 0));
        loop {
            let events = self.events.iter().map(|event| event.0);
            let polls = self.engines.iter().filter_map(|engine| engine.next_poll);
            let blocks = self.engines.iter().flat_map(|engine| &engine.batches);
            let next = events.chain(polls).chain(blocks.map(|batch: &Batch| batch.end)).min();
            let mut next = next.unwrap_or(u64::MAX);
            if next > self.now {
                self.fill_engines();
                next = next.min(self.next_copy());
            }
            if next == u64::MAX {
                return self.now;
            }
            for call in self.under_way() {
                self.ops[call].left -= (next - self.now) as f64 * self.ops[call].speed;
            }
            self.now = next;
            self.end_copies();
            self.end_blocks();
            self.poll();
            while let Some(due) = self.events.iter().position(|event| event.0 == self.now) {
                let (_, happens, call) = self.events.remove(due);
                happens(self, call);
            }
        }
    }

    pub fn schedule(&mut self, time: u64, happens: Happens<'p>, call: usize) {
        self.events.push((time, happens, call));
    }

    pub fn schedule_or_now(&mut self, time: u64, happens: Happens<'p>, call: usize) {
        if time > self.now { self.schedule(time, happens, call) } else { happens(self, call) }
    }

    /// The place of an operation's engine.
    pub fn engine_of(&self, call: usize) -> usize {
        self.ops[call].device * KINDS + self.ops[call].kind.expect("an operation") as usize
    }

    pub fn issued(&self, call: usize) -> u64 {
        self.ops[call].issued.expect("it was issued")
    }

    /// When an operation reaches the device.
    pub fn arrival(&self, call: usize) -> u64 {
        self.issued(call) + self.costs[call].latency.nanos()
    }

    pub fn is_over(&self, call: usize) -> bool {
        self.ops[call].ending.is_some()
    }

    /// A thread enters its next call, from `first` on.
    fn enter_next(&mut self, thread: ThreadId, first: usize) {
        let is_its_own = |call: &usize| self.program.thread_of(*call) == thread;
        let mut calls = (first..self.ops.len()).filter(is_its_own);
        let Some(call) = calls.find(|&call| !self.costs[call].in_graph) else { return };
        let inline = self.prices.inline_cost_of(call).copied();
        if let (Some(lane), Some(inline)) = (self.ops[call].lane, inline) {
            let is_drained = self.head(lane).is_none();
            if !is_drained || self.cleared(call) > self.resumed {
                self.resume();
            }
            if is_drained {
                (self.costs[call], self.ops[call].kind) = (inline, Some(Kernel));
            }
        }
        let cost = self.costs[call];
        let depends = inline.is_some() || cost.waits != Waits::No;
        let host = if depends { cost.host } else { self.prices.host_time(call) };
        let reached = self.now + host.nanos();
        self.ops[call].host = [self.now, reached];
        // The nodes of a graph start while it is launched.
        let mut launched = self.now + cost.latency.nanos();
        let mut node = call + 1;
        while self.costs.get(node).is_some_and(|cost| cost.in_graph) {
            launched += self.costs[node].host.nanos();
            self.issue(node, launched);
            node += 1;
        }
        let time = reached.saturating_sub(cost.then.nanos()).max(self.now);
        self.schedule(time, Self::take_effect, call);
    }

    /// The only host thread goes on after something that it had to wait for.
    fn resume(&mut self) {
        if self.program.thread_count() == 1 {
            self.resumed = self.now;
            self.come_to_arrivals(self.now);
        }
    }

    fn issue(&mut self, call: usize, time: u64) {
        self.ops[call].issued = Some(time);
        self.order.push(call);
        let lane = self.ops[call].lane.filter(|&lane| self.head(lane) == Some(call));
        self.advance(lane.into_iter().collect());
        if self.program.thread_count() == 1 {
            self.ring_doorbell(call);
        }
    }

    fn take_effect(&mut self, call: usize) {
        self.issue(call, self.now);
        if self.program.thread_count() > 1 {
            self.come_to_arrivals(self.now.saturating_sub(1));
        }
        self.release_threads();
        let [_, reached] = self.ops[call].host;
        if !self.has_happened(call) {
            self.ops[call].waits = true;
        } else if self.costs[call].waits != Waits::Staging {
            // Staging says itself when the host returns.
            match reached > self.now {
                true => self.schedule(reached, Self::return_from, call),
                false => self.leave(call),
            }
        }
    }

    pub fn return_from(&mut self, call: usize) {
        self.ops[call].host[1] = self.now;
        self.resume();
        self.leave(call);
    }

    fn leave(&mut self, call: usize) {
        self.ops[call].has_returned = true;
        self.release_threads();
        self.enter_next(self.program.thread_of(call), call + 1);
    }

    /// Whether what the host waits for in a call is over.
    fn has_happened(&self, call: usize) -> bool {
        let is_drained = |lane: usize| self.head(lane).is_none();
        match self.costs[call].waits {
            Waits::No | Waits::Staging => true,
            Waits::Stream => self.program.body[call].stream().is_none_or(|one| is_drained(one.0)),
            Waits::Event => self.record_for(call).is_none_or(|record| self.is_over(record)),
            Waits::Device(only) => {
                let is_meant = |lane: &usize| only.is_none_or(|id| id == self.traits[*lane].device);
                (0..self.traits.len()).filter(is_meant).all(is_drained)
            }
            Waits::Thread(other) => {
                let is_its_own = |call: &usize| self.program.thread_of(*call).0 == other;
                (0..call).filter(is_its_own).all(|call| self.ops[call].has_returned)
            }
        }
    }

    /// Wakes up threads that need not wait any longer.
    pub fn release_threads(&mut self) {
        let may_go_on = |call: &usize| self.ops[*call].waits && self.has_happened(*call);
        let mut calls: Vec<usize> = (0..self.ops.len()).filter(may_go_on).collect();
        calls.sort_by_key(|&call| self.program.thread_of(call));
        for call in calls {
            let CallCost { waits, wake, then, .. } = self.costs[call];
            let [_, reached] = self.ops[call].host;
            let is_thread = matches!(waits, Waits::Thread(_));
            let is_awake = !is_thread && self.now + then.nanos() <= reached;
            let time = if is_awake { reached } else { self.now + (wake + then).nanos() };
            self.ops[call].waits = false;
            self.schedule(time, Self::return_from, call);
        }
    }
}

fn kind_of(work: &Work) -> Option<OperationKind> {
    match work {
        Work::Copy { direction, .. } | Work::Staged { direction, .. } => {
            Some(OperationKind::of_copy(*direction))
        }
        Work::PeerCopy { .. } => Some(OperationKind::PeerCopy),
        Work::Kernel { .. } | Work::Inline { .. } | Work::OnDevice { .. } => Some(Kernel),
        Work::Record | Work::Wait | Work::Nothing => None,
    }
}
