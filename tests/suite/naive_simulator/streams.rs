//! Streams and events: what comes next, when it may start, and where it goes; and engines that poll
//! for operations which came too early.

use super::engines::{Engine, KINDS};
use super::simulator::{Ending, Op, Simulator};
use hallway::cost::Work;
use hallway::machine::DeviceId;
use hallway::machine::OperationKind::{self, CopyOut, Kernel, PeerCopy};
use hallway::profile::{Curve, FirstPoll, SemaphorePolling};
use hallway::program::{Behind, Graph};
use hallway::units::Span;

const CHANNELS: usize = 8;
/// Ticks of the clock in a polling period.
const TICKS: u64 = 8;
/// From the ring of a doorbell to the arrival of the commands.
const RING: u64 = 1_300;

impl Simulator<'_> {
    pub fn calls(&self, lane: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.ops.len()).filter(move |&call| self.ops[call].lane == Some(lane))
    }

    /// The first call of a lane that is not over, if it has been issued.
    pub fn head(&self, lane: usize) -> Option<usize> {
        let first = self.calls(lane).find(|&call| !self.is_over(call));
        first.filter(|&call| self.ops[call].issued.is_some())
    }

    /// The calls before one in its lane, the latest first.
    pub fn before(&self, call: usize) -> impl Iterator<Item = usize> {
        (0..call).rev().filter(move |&other| self.ops[other].lane == self.ops[call].lane)
    }

    /// The end of the last operation before a call in its lane.
    pub fn last(&self, call: usize) -> Ending {
        let last = self.before(call).find(|&other| self.ops[other].kind.is_some());
        last.and_then(|last| self.ops[last].ending).unwrap_or_default()
    }

    /// When all before a call in its lane was over.
    pub fn cleared(&self, call: usize) -> u64 {
        let last = self.before(call).next().and_then(|last| self.ops[last].ending);
        last.map_or(0, |last| last.time)
    }

    /// The record that a call waits for.
    pub fn record_for(&self, call: usize) -> Option<usize> {
        let (body, waits) = (&self.program.body, &self.program.body[call]);
        let event = waits.event().filter(|_| waits.recorded().is_none())?;
        body[..call].iter().rposition(|one| one.recorded() == Some(event))
    }

    /// The lanes that a call waits for across the barrier of the legacy default stream.
    fn across_barrier(&self, call: usize) -> impl Iterator<Item = usize> {
        let own = self.traits[self.ops[call].lane.expect("it is in a lane")];
        (0..self.traits.len()).filter(move |&lane| own.waits_for(&self.traits[lane]))
    }

    /// What a call follows beside the last operation of its lane: what waits since then were for,
    /// and the last operations across the barrier.
    fn awaited(&self, call: usize) -> Vec<Ending> {
        let since = self.before(call).take_while(|&one| self.ops[one].kind.is_none());
        let since: Vec<usize> = [call].into_iter().chain(since).collect();
        let awaited = since.into_iter().rev().flat_map(|one| {
            let is_before = move |other: &usize| *other < one && self.ops[*other].kind.is_some();
            let last = move |lane| self.calls(lane).rfind(is_before);
            self.across_barrier(one).filter_map(last).chain(self.record_for(one))
        });
        awaited.filter_map(|one| self.ops[one].ending).collect()
    }

    /// An operation has ended: its lane goes on, and perhaps the host.
    pub fn finish(&mut self, call: usize) {
        let (place, device) = (self.engine_of(call), self.ops[call].device);
        let ending = Ending { time: self.now, operation: Some(call), device };
        self.ops[call].ending = Some(ending);
        let engine = &mut self.engines[place];
        engine.last = self.now;
        if self.costs[call].in_graph {
            // An engine looks for other nodes at once.
            engine.next_poll = engine.next_poll.and(Some(self.now));
        }
        let held_back = std::mem::take(&mut self.held_back).into_iter();
        self.advance(held_back.chain(self.ops[call].lane).collect());
        self.release_threads();
    }

    /// Lets lanes go on to their next operation, the last of them first, and then those that waited
    /// for what they pass.
    pub fn advance(&mut self, mut lanes: Vec<usize>) {
        while let Some(lane) = lanes.pop() {
            while let Some(call) = self.head(lane) {
                let is_ahead = |other: usize| other < call && !self.is_over(other);
                if self.across_barrier(call).any(|other| self.calls(other).any(is_ahead)) {
                    self.held_back.insert(lane);
                    break;
                }
                if self.ops[call].kind.is_some() {
                    self.start(call);
                    break;
                }
                let record = self.record_for(call);
                if let Some(record) = record.filter(|&record| !self.is_over(record)) {
                    self.waiting.entry(record).or_default().push(lane);
                    break;
                }
                self.ops[call].ending = Some(self.pass(call));
                lanes.extend(self.waiting.remove(&call).into_iter().flatten().rev());
                lanes.extend(std::mem::take(&mut self.held_back));
            }
        }
    }

    /// What those follow who wait for a record, or when a wait is over.
    fn pass(&self, call: usize) -> Ending {
        let (last, issued, device) = (self.last(call), self.issued(call), self.ops[call].device);
        let own = Ending { time: issued, device, ..last };
        let later = |last: Ending, one: Ending| if one.time > last.time { one } else { last };
        if self.costs[call].work == Work::Record {
            return self.awaited(call).into_iter().fold(later(last, own), later);
        }
        let over = self.record_for(call).and_then(|record| self.ops[record].ending);
        let over = over.map_or(0, |over| over.time);
        Ending { time: over.max(self.cleared(call)).max(issued), ..own }
    }

    /// Works out when the operation at the head of its lane may start, and sends it to its engine.
    fn start(&mut self, call: usize) {
        let [issued, arrival] = [self.issued(call), self.arrival(call)];
        let (mut time, mut missed) = (arrival, None);
        let all = [self.last(call)].into_iter().chain(self.awaited(call)).enumerate();
        for (place, from) in all.filter(|(_, from)| from.time > issued) {
            let across = place > 0;
            missed = missed.max(self.missed(call, &from, across));
            let mut nanos = self.hand_over(call, &from, across).unwrap_or(0.0);
            if from.device != self.ops[call].device {
                nanos += self.profile.crossing().expect("known");
            }
            // The device looks once between issue and arrival, and pays only if it was too early.
            let early = (from.time - issued) as f64 / (arrival - issued) as f64;
            let share = if from.time >= arrival { 1.0 } else { early };
            time = time.max(from.time + Span::from_nanos_f64(nanos * share).nanos());
        }
        match missed {
            None => self.set_off(call, time),
            Some(from) => {
                self.ops[call].polled_from = from;
                self.schedule_or_now(time, Self::miss, call);
            }
        }
    }

    /// What it costs to go on from one operation to another, unless its engine polls for that. If
    /// the engine is busy, it costs nothing.
    fn hand_over(&self, call: usize, from: &Ending, across: bool) -> Option<f64> {
        let (before, kind) = (self.ops[from.operation?].kind?, self.ops[call].kind?);
        let (engine, in_graph) = (&self.engines[self.engine_of(call)], self.costs[call].in_graph);
        if [before, kind] == [Kernel; 2] && !across && !in_graph {
            return Some(self.beside_waiting(self.ops[call].device));
        }
        let is_busy = engine.copy.is_some() || kind == Kernel && !engine.queue.is_empty();
        if is_busy || self.polls_for(call, from).is_some() {
            return None;
        }
        if in_graph {
            return Some(self.profile.node_hand_over(before, kind).expect("known"));
        }
        let price = self.profile.hand_over(before, kind, across).expect("known")?;
        // The first of its kind since its lane was last empty pays more.
        let row = [call].into_iter().chain(self.before(call));
        let row = row.take_while(|&one| self.issued(one) < self.cleared(one));
        let mut row = row.filter_map(|one| self.before(one).next());
        let is_queued = row.any(|one| self.ops[one].kind == Some(kind));
        Some(if is_queued { price.queued.ns } else { price.first.ns }.max(0.0))
    }

    /// Sends an operation to its engine; a kernel once all before it in its channel may start.
    pub fn set_off(&mut self, call: usize, time: u64) {
        if !matches!(self.costs[call].work, Work::Kernel { .. }) {
            return self.schedule_or_now(time, Self::join, call);
        }
        self.ops[call].ready = Some(time);
        let mut latest = self.now;
        for other in 0..self.ops.len() {
            let Work::Kernel { gap, .. } = self.costs[other].work else { continue };
            if self.channel(other) != self.channel(call) {
                continue;
            }
            let Some(ready) = self.ops[other].ready else { return };
            latest = latest.max(ready);
            if self.ops[other].launched.is_none() {
                self.ops[other].launched = Some(latest);
                // Nothing else happens then, but a kernel that has begun slows copies.
                self.schedule(latest, |_, _| (), other);
                self.schedule(latest + gap.nanos(), Self::dispatch, other);
            }
        }
    }

    /// The channel of a call on its device: if there are too few, lanes take turns.
    fn channel(&self, call: usize) -> [usize; 2] {
        let Op { device, lane, .. } = self.ops[call];
        let lanes = self.traits.iter().take(lane.expect("it is in a lane"));
        let before = lanes.filter(|one| one.device.0 == device).count();
        let mut devices = (0..self.program.devices()).map(DeviceId);
        let is_shared = devices.any(|one| self.program.streams_of(one) > CHANNELS);
        [device, if is_shared { before % CHANNELS } else { before }]
    }
}

/// Polling.
impl Simulator<'_> {
    fn polling(&self) -> Option<&SemaphorePolling> {
        self.profile.latency.semaphore_polling.as_ref()
    }

    /// A tick of the clock by which engines poll.
    fn tick(&self) -> u64 {
        self.polling().map_or(1, |polling| (polling.period.span().nanos() / TICKS).max(1))
    }

    fn since_edge(&self, time: u64) -> u64 {
        (time + self.tick() - self.tick().div_ceil(2)) % self.tick()
    }

    /// The first poll at or after `ready` if periods count from `first`.
    fn poll_after(&self, first: u64, ready: u64) -> u64 {
        let (tick, period) = (self.tick(), TICKS * self.tick());
        let from = ready.min(first + tick / 2);
        let poll = from + period - self.since_edge(from);
        poll + ready.saturating_sub(poll).div_ceil(period) * period
    }

    /// Whether an operation finds its engine busy with the one before it in its lane.
    pub fn queues_behind_last(&self, call: usize) -> bool {
        let Ending { time, operation, .. } = self.last(call);
        let is_same = |last: usize| self.ops[last].kind == self.ops[call].kind;
        operation.is_some_and(is_same) && time > self.arrival(call)
    }

    /// The kinds of what an operation follows and its own, if its engine polls for that.
    pub fn polls_for(&self, call: usize, from: &Ending) -> Option<[OperationKind; 2]> {
        let kinds = [self.ops[from.operation?].kind?, self.ops[call].kind?];
        let is_timed = kinds[0] != kinds[1] && !kinds.contains(&PeerCopy);
        let polls = self.polling().is_some() && from.device == self.ops[call].device;
        (is_timed && polls).then_some(kinds)
    }

    /// If the engine of an operation polls too early for the end of `from`: from when on polling
    /// periods count.
    pub fn missed(&self, call: usize, from: &Ending, across: bool) -> Option<u64> {
        let (polling, [before, kind]) = (self.polling()?, self.polls_for(call, from)?);
        let (arrival, last) = (self.arrival(call), self.last(call));
        let in_graph = self.costs[call].in_graph;
        let has_staged = self.costs.iter().any(|cost| matches!(cost.work, Work::Staged { .. }));
        let tolerance = match across || has_staged {
            true => &polling.arrival_tolerance,
            false => polling.tolerance_behind(before, kind),
        };
        let tolerance = match in_graph {
            true => polling.tolerance_in_graph(before, kind),
            false => Some(tolerance),
        };
        let tolerance = tolerance.map_or(0, |one| one.span().nanos());
        // Commands of a lane are processed up to the first that has to wait; nodes one by one.
        let is_behind = self.queues_behind_last(call);
        let started = last.operation.and_then(|last| self.ops[last].started).unwrap_or(0);
        let busy = if in_graph { last.time } else { started };
        let turn = if is_behind { arrival.max(busy) } else { arrival };
        let first = turn + self.first_poll(call, from).unwrap_or(0);
        let is_found_meanwhile = is_behind && self.poll_after(first, from.time) <= last.time;
        (from.time > turn + tolerance && !is_found_meanwhile).then_some(first)
    }

    /// How long after the arrival of an operation polling periods begin to count.
    fn first_poll(&self, call: usize, from: &Ending) -> Option<u64> {
        let (polling, [before, kind]) = (self.polling()?, self.polls_for(call, from)?);
        let nanos = |pair: &FirstPoll| pair.time.span().nanos();
        if self.costs[call].in_graph {
            // A copy to the host with which a graph begins holds up what is behind it.
            let from = self.graph.as_ref()?.before(from.operation?);
            let is_first = from.is_some_and(|from| from.behind == Behind::Nothing);
            let is_any = before == CopyOut && !is_first;
            let pairs = polling.first_polls_in_graphs.iter().filter(|one| one.to == kind);
            return pairs.filter(|one| is_any || one.from == before).map(nanos).min();
        }
        // Kernels never poll for kernels, so the least of what copies take stands in.
        let is_alone = |one: &&FirstPoll| one.from == Kernel && (one.to == kind || kind == Kernel);
        let alone = polling.first_polls.iter().filter(is_alone).map(nanos).min();
        // Commands come down the link behind the data of copies.
        let (arrival, engines) = (self.arrival(call), self.ops[call].device * KINDS);
        let beside = |pair: &FirstPoll| {
            let Engine { copy, row: [since, until], .. } =
                self.engines[engines + pair.from as usize];
            let until = if copy.is_some() { u64::MAX } else { until };
            let grown = |curve: &Curve| {
                let nanos = arrival.saturating_sub(since) as f64;
                Span::from_nanos_f64(curve.within(nanos))
            };
            let is_under_way = (since..until).contains(&arrival);
            let after = pair.under_way.as_ref().map_or(pair.time.span(), grown);
            is_under_way.then(|| after.nanos().min(until - arrival))
        };
        let pairs = polling.first_polls.iter().filter(|one| one.to == kind);
        alone.max(pairs.filter_map(beside).max())
    }

    /// Whether a call arrives at its engine by itself. Nodes of a graph without branches, and
    /// kernels right behind others there, arrive together with what is before them.
    fn arrives(&self, call: usize) -> bool {
        let has_branches = || self.graph.as_ref().is_some_and(Graph::has_branches);
        let (cost, Op { kind, usual, .. }) = (&self.costs[call], self.ops[call]);
        let is_alone = !cost.in_graph || cost.host > Span::ZERO && has_branches();
        kind.is_some() && kind == usual && is_alone
    }

    /// When a doorbell rings for a call.
    fn ring(&self, call: usize) -> u64 {
        self.arrival(call).saturating_sub(RING).max(self.issued(call))
    }

    /// When an engine polls for the arrival of a call. Other work keeps it away from copies out.
    fn polled(&self, call: usize) -> u64 {
        self.arrival(call) + if self.ops[call].kind == Some(CopyOut) { 600 } else { 0 }
    }

    /// When the next poll comes that issued work causes at an engine.
    fn next_arrival(&mut self, place: usize, now: u64) -> Option<u64> {
        let is_here = |call: &usize| self.arrives(*call) && self.engine_of(*call) == place;
        let all: Vec<usize> = self.order.iter().copied().filter(is_here).collect();
        let is_behind = |call: usize| {
            let is_same = |&other: &usize| self.ops[other].usual == self.ops[call].usual;
            self.before(call).find(is_same).is_some_and(|before| !self.is_over(before))
        };
        let Engine { last, back, rung, arrived, .. } = self.engines[place];
        let rings = all[rung..].iter().copied().take_while(|&new| self.ring(new) <= now);
        let comes = all[arrived..].iter().copied().take_while(|&new| self.arrival(new) <= now);
        let (rung, arrived) = (rung + rings.clone().count(), arrived + comes.clone().count());
        // A doorbell for work behind what waits may have periods count anew.
        let half = self.tick() / 2;
        let counts = |&new: &usize| is_behind(new) && self.since_edge(self.ring(new)) < half;
        let rings = rings.filter(counts).map(|new| self.ring(new).saturating_sub(half));
        let last = rings.fold(last, u64::max);
        let back = comes.filter(|&new| !is_behind(new)).last().or(back);
        let is_due = |&&new: &&usize| self.arrival(new) > now && !is_behind(new);
        let due = all[arrived.min(rung)..rung].iter().find(is_due).map(|&new| self.polled(new));
        let ring = all.get(rung).map(|&new| self.ring(new));
        let engine = &mut self.engines[place];
        (engine.last, engine.back, engine.rung, engine.arrived) = (last, back, rung, arrived);
        due.into_iter().chain(ring).min()
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    pub fn miss(&mut self, call: usize) {
        let place = self.engine_of(call);
        let woken = self.next_arrival(place, self.now);
        let Engine { last, back, next_poll, .. } = self.engines[place];
        // Its own arrival tells the engine nothing new.
        let back = back.filter(|&back| back != call).map(|back| self.polled(back));
        let Op { polled_from, .. } = self.ops[call];
        let others = if self.queues_behind_last(call) { None } else { back.max(Some(last)) };
        let poll = self.poll_after(polled_from.max(others.unwrap_or(0)), self.now);
        let polls = [next_poll, woken, back.filter(|&back| back > self.now), Some(poll)];
        self.engines[place].next_poll = polls.into_iter().flatten().min();
        self.engines[place].missed.push(call);
    }

    /// A doorbell for a call rings in time, and then its engine polls.
    pub fn ring_doorbell(&mut self, call: usize) {
        if self.arrives(call) {
            let (place, ring) = (self.engine_of(call), self.ring(call));
            let next = &mut self.engines[place].next_poll;
            *next = next.map(|next| next.min(ring));
        }
    }

    /// Engines that wait for a poll come to what has been issued until a time.
    pub fn come_to_arrivals(&mut self, until: u64) {
        for place in 0..self.engines.len() {
            if let Some(next) = self.engines[place].next_poll {
                let woken = self.next_arrival(place, until).into_iter();
                self.engines[place].next_poll = woken.chain([next]).min();
            }
        }
    }

    /// Lets go on what engines find that poll now.
    pub fn poll(&mut self) {
        let mut found = Vec::new();
        for engine in &mut self.engines {
            if engine.next_poll.is_some_and(|next| next <= self.now) {
                (engine.last, engine.next_poll) = (self.now, None);
                found.append(&mut engine.missed);
            }
        }
        found.into_iter().for_each(|call| self.set_off(call, self.now));
    }
}
