//! Engines that poll for operations which came too early.

use super::simulator::{Ending, Simulator, Stream};
use hallway::cost::Work;
use hallway::machine::{Direction, OperationKind};
use hallway::profile::{FirstPoll, SemaphorePolling};
use hallway::program::Behind;
use hallway::units::Span;

const TICKS: u64 = 8;
/// From the ring of a doorbell to the arrival of the commands.
const RING: u64 = 1_300;

/// The clock by which engines poll.
#[derive(Clone, Copy)]
struct Clock {
    tick: u64,
    edge: u64,
}

impl Clock {
    fn new(polling: &SemaphorePolling) -> Self {
        let tick = (polling.period.span().nanos() / TICKS).max(1);
        Self { tick, edge: Span::from_nanos_f64(tick as f64 * 0.5).nanos() }
    }

    fn since_edge(&self, time: u64) -> u64 {
        (time + self.tick - self.edge) % self.tick
    }

    /// The first poll at or after `ready` if periods count from `first`.
    fn next(&self, first: u64, ready: u64) -> u64 {
        let from = ready.min(first + self.tick / 2);
        let poll = from + TICKS * self.tick - self.since_edge(from);
        poll + ready.saturating_sub(poll).div_ceil(TICKS * self.tick) * TICKS * self.tick
    }
}

/// Work that arrives at an engine.
#[derive(Clone, Copy)]
struct Arrival {
    call: usize,
    ring: u64,
    time: u64,
    /// Whether it lies behind other work of this engine in its stream.
    is_behind: bool,
}

/// The polling of one engine.
#[derive(Default)]
pub struct Poller {
    last: u64,
    /// The latest poll that an arrival caused, and that arrival.
    back: (u64, Option<usize>),
    rung: usize,
    arrived: usize,
    waiting: Vec<usize>,
    pub next: Option<u64>,
}

impl Poller {
    /// The engine has finished something, in a graph or not.
    pub fn done(&mut self, in_graph: bool, now: u64) {
        self.last = now;
        self.next = self.next.map(|next| if in_graph { now } else { next });
    }
}

impl Simulator<'_> {
    fn clock(&self) -> Option<(Clock, &SemaphorePolling)> {
        let polling = self.profile.latency.semaphore_polling.as_ref()?;
        Some((Clock::new(polling), polling))
    }

    /// Whether an operation finds its engine busy with the one before it in its stream.
    pub fn queues_behind_last(&self, call: usize) -> bool {
        let last = self.stream(call).last;
        last.kind == self.kind_of(call) && last.time > self.arrival(call)
    }

    /// If the engine of an operation polls for the end of `from`: the kind of that.
    pub fn polls_for(&self, call: usize, from: &Ending) -> Option<OperationKind> {
        self.profile.latency.semaphore_polling.as_ref()?;
        let kinds = [from.kind?, self.kind_of(call)?];
        let is_timed = kinds[0] != kinds[1] && !kinds.contains(&OperationKind::PeerCopy);
        (is_timed && from.device == self.device_of(call)).then_some(kinds[0])
    }

    /// If the engine of an operation polls too early for the end of `from`: from when on periods
    /// count.
    pub fn polls_too_early(&self, call: usize, from: &Ending, across: bool) -> Option<u64> {
        let (clock, polling) = self.clock()?;
        let (before, kind) = (self.polls_for(call, from)?, self.kind_of(call)?);
        let in_graph = self.prices.cost_of(call).in_graph;
        let stages = |call| matches!(self.prices.cost_of(call).work, Work::Staged { .. });
        let tolerance = if across || (0..self.lanes.len()).any(stages) {
            polling.arrival_tolerance.span()
        } else {
            polling.tolerance_behind(before, kind).span()
        };
        let tolerance = if in_graph { 0 } else { tolerance.nanos() };
        let Stream { last, started, .. } = self.stream(call);
        let arrival = self.arrival(call);
        let is_behind = self.queues_behind_last(call);
        let busy = if in_graph { last.time } else { *started };
        let turn = if is_behind { arrival.max(busy) } else { arrival };
        let after = match in_graph {
            true => self.first_poll_in_graph(polling, from, (before, kind)),
            false => self.first_poll(polling, (self.device_of(call), kind), arrival),
        };
        let first = turn + after;
        let is_found_meanwhile = is_behind && clock.next(first, from.time) <= last.time;
        (from.time > turn + tolerance && !is_found_meanwhile).then_some(first)
    }

    /// How long after an arrival periods begin to count: later beside copies.
    fn first_poll(
        &self,
        polling: &SemaphorePolling,
        (device, to): (usize, OperationKind),
        arrival: u64,
    ) -> u64 {
        let pairs = &polling.first_polls;
        let of = |from, to| pairs.iter().rfind(|pair| (pair.from, pair.to) == (from, to));
        let nanos = |pair: &FirstPoll| pair.time.span().nanos();
        let behind_kernels = pairs.iter().filter(|pair| pair.from == OperationKind::Kernel);
        let alone = match to {
            OperationKind::Kernel => behind_kernels.map(nanos).min(),
            _ => of(OperationKind::Kernel, to).map(nanos),
        };
        let beside = |way: Direction| {
            let (since, until) = self.engines[device][way as usize].under_way(arrival)?;
            let pair = of(OperationKind::of_copy(way), to);
            let curve = pair.and_then(|pair| pair.under_way.as_ref());
            let curve = curve.map(|curve| curve.within((arrival - since) as f64));
            let after = curve.map(|ns| Span::from_nanos_f64(ns).nanos());
            let after = after.unwrap_or_else(|| pair.map_or(0, nanos));
            Some(until.map_or(after, |until| after.min(until - arrival)))
        };
        let beside = Direction::BOTH.into_iter().filter_map(beside);
        beside.fold(alone.unwrap_or(0), u64::max)
    }

    /// How long a node of a graph waits for the first poll. It arrives with its graph.
    fn first_poll_in_graph(
        &self,
        polling: &SemaphorePolling,
        from: &Ending,
        (before, to): (OperationKind, OperationKind),
    ) -> u64 {
        let behind = |call: usize| self.graphs.iter().find_map(|graph| graph.before(call));
        let is_first = |call| behind(call).is_some_and(|one| one.behind == Behind::Nothing);
        let mut pairs = polling.first_polls_in_graphs.iter().filter(|pair| pair.to == to);
        let nanos = |pair: &FirstPoll| pair.time.span().nanos();
        if before == OperationKind::CopyOut && !from.call.is_some_and(is_first) {
            return pairs.map(nanos).min().unwrap_or(0);
        }
        pairs.rfind(|pair| pair.from == before).map_or(0, nanos)
    }

    /// The arrival of a call at an engine, if it is work for that. Nodes of a graph without
    /// branches, and kernels right behind others, arrive together with what is before them.
    fn arrival_at(&self, (device, kind): (usize, OperationKind), call: usize) -> Option<Arrival> {
        let graph = self.graphs.iter().find(|graph| graph.calls.contains(&call));
        let by_itself = |has_branches| has_branches && self.cost(call).host > Span::ZERO;
        let by_itself = graph.is_none_or(|graph| by_itself(graph.has_branches()));
        let is_here = self.lanes[call].is_some() && self.device_of(call) == device;
        if !is_here || !by_itself || self.inline[call] || self.kind_of(call) != Some(kind) {
            return None;
        }
        let is_before = |&&other: &&usize| other < call && self.usual_kind_of(other) == Some(kind);
        let before = self.stream(call).calls.iter().rfind(is_before);
        let is_behind = before.is_some_and(|&before| self.endings[before].is_none());
        let time = self.arrival(call);
        let ring = time.saturating_sub(RING).max(self.issued[call].unwrap_or(0));
        Some(Arrival { call, ring, time, is_behind })
    }

    /// When the next poll comes that issued work causes at an engine. Other work keeps it `away`.
    fn next_arrival(&mut self, device: usize, kind: OperationKind, now: u64) -> Option<u64> {
        let (clock, _) = self.clock()?;
        let arrivals = self.order.iter().filter_map(|&call| self.arrival_at((device, kind), call));
        let all: Vec<Arrival> = arrivals.collect();
        let away = if kind == OperationKind::CopyOut { 600 } else { 0 };
        let poller = &mut self.pollers[device][kind as usize];
        while let Some(new) = all.get(poller.rung).filter(|new| new.ring <= now) {
            // A doorbell for work behind what waits may have periods count anew.
            if new.is_behind && clock.since_edge(new.ring) < clock.tick / 2 {
                poller.last = poller.last.max(new.ring.saturating_sub(clock.tick / 2));
            }
            poller.rung += 1;
        }
        while let Some(new) = all.get(poller.arrived).filter(|new| new.time <= now) {
            if !new.is_behind {
                poller.back = (new.time + away, Some(new.call));
            }
            poller.arrived += 1;
        }
        let mut under_way = all[..poller.rung].iter().skip(poller.arrived);
        let polled_for = under_way.find(|new| new.time > now && !new.is_behind);
        let ring = all.get(poller.rung).map(|new| new.ring);
        polled_for.map(|new| new.time + away).into_iter().chain(ring).min()
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    pub fn miss(&mut self, call: usize) {
        let (device, kind) = (self.device_of(call), self.kind_of(call).expect("an operation"));
        let woken = self.next_arrival(device, kind, self.now);
        let (clock, _) = self.clock().expect("engines poll");
        let poller = &mut self.pollers[device][kind as usize];
        let back = Some(poller.back.0).filter(|_| poller.back.1 != Some(call));
        let (from, only) = self.missed[call];
        let others = if only { from } else { poller.last.max(back.unwrap_or(0)) };
        let poll = clock.next(from.max(others), self.now);
        let back = back.filter(|&back| back > self.now);
        let all = [poller.next, woken, back, Some(poll)];
        poller.next = all.into_iter().flatten().min();
        poller.waiting.push(call);
    }

    /// A doorbell for a call rings in time, and then its engine polls.
    pub fn ring_doorbell(&mut self, call: usize) {
        let Some(kind) = self.usual_kind_of(call) else { return };
        let device = self.device_of(call);
        let new = self.arrival_at((device, kind), call);
        let next = &mut self.pollers[device][kind as usize].next;
        *next = next.map(|next| new.map_or(next, |new| next.min(new.ring)));
    }

    /// Engines that wait for a poll come to what has been issued until a time.
    pub fn come_to_arrivals(&mut self, until: u64) {
        let kinds = |device| OperationKind::ALL.map(|kind| (device, kind));
        for (device, kind) in (0..self.pollers.len()).flat_map(kinds) {
            if let Some(next) = self.pollers[device][kind as usize].next {
                let woken = self.next_arrival(device, kind, until).into_iter();
                self.pollers[device][kind as usize].next = woken.chain([next]).min();
            }
        }
    }

    /// Lets go on what engines find that poll now.
    pub fn poll(&mut self) {
        let mut found = Vec::new();
        for poller in self.pollers.as_flattened_mut() {
            if poller.next.is_some_and(|next| next <= self.now) {
                (poller.last, poller.next) = (self.now, None);
                found.append(&mut poller.waiting);
            }
        }
        for call in found {
            self.set_off(call, self.now);
        }
    }
}
