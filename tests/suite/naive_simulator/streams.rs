//! Streams and events: what comes next, when it may start, and where it goes.

use super::simulator::{CHANNELS, Ending, Event, Simulator, Stream};
use hallway::cost::Work;
use hallway::machine::{DeviceId, OperationKind};
use hallway::program::Call;
use hallway::units::Span;

impl Simulator<'_> {
    /// The last record of an event before a call.
    pub fn recorded(&self, wanted: usize, before: usize) -> Option<usize> {
        let is_it = |call: &Call| matches!(call, Call::Record { event, .. } if event.0 == wanted);
        self.program.body[..before].iter().rposition(is_it)
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    pub fn finish(&mut self, call: usize, started: u64) {
        self.device[call] = Some((started, self.now));
        let (device, kind) = (self.device_of(call), self.kind_of(call));
        let ending = Ending { time: self.now, call: Some(call), device, kind };
        let lane = self.lanes[call].expect("it has a stream");
        let stream = &mut self.streams[lane];
        (stream.cleared, stream.last, stream.started) = (self.now, ending, started);
        stream.passed += 1;
        self.endings[call] = Some(ending);
        let in_graph = self.cost(call).in_graph;
        self.pollers[device][kind.expect("an operation") as usize].done(in_graph, self.now);
        if let Work::Kernel { .. } = self.work(call) {
            self.kernels[device] -= 1;
        }
        let mut lanes = self.let_go();
        lanes.push(lane);
        self.advance(lanes);
        self.release_threads();
    }

    /// Takes out the streams that the barrier of the legacy default stream has held back.
    fn let_go(&mut self) -> Vec<usize> {
        let is_free = |stream: &mut Stream| std::mem::take(&mut stream.is_held_back);
        let streams = self.streams.iter_mut().enumerate();
        streams.filter_map(|(lane, stream)| is_free(stream).then_some(lane)).collect()
    }

    /// Lets streams go on to their next operation, the last of them first, and then those that
    /// waited for what they passed.
    pub fn advance(&mut self, mut may_go_on: Vec<usize>) {
        while let Some(lane) = may_go_on.pop() {
            while let Some(call) = self.head(lane).filter(|&call| !self.holds_back(lane, call)) {
                if self.kind_of(call).is_some() {
                    self.start(lane, call);
                    break;
                }
                if !self.pass(lane, call) {
                    break;
                }
                let freed = self.waiting.iter().filter(|waits| waits.0 == call);
                may_go_on.extend(freed.rev().map(|waits| waits.1));
                self.waiting.retain(|waits| waits.0 != call);
                may_go_on.extend(self.let_go());
            }
        }
    }

    /// Whether a call has to wait for earlier calls across the barrier of the legacy default
    /// stream. If not, it follows the last operations there.
    fn holds_back(&mut self, lane: usize, call: usize) -> bool {
        let traits = self.streams[lane].traits;
        let others = self.streams.iter().filter(|other| traits.waits_for(&other.traits));
        let (mut last, mut is_held_back) = (Vec::new(), false);
        for Stream { calls, passed, last: ending, .. } in others {
            is_held_back |= calls.get(*passed).is_some_and(|&head| head < call);
            last.extend(ending.call.map(|_| *ending));
        }
        self.streams[lane].is_held_back = is_held_back;
        if !is_held_back {
            self.streams[lane].awaited.append(&mut last);
        }
        is_held_back
    }

    /// Passes a record or a wait at the head of a stream; returns whether it could.
    fn pass(&mut self, lane: usize, call: usize) -> bool {
        let issued = self.issued[call].expect("it is at the head");
        let mut left = issued;
        let mut ending = None;
        if let Call::Wait { event, .. } = &self.program.body[call]
            && let Some(record) = self.recorded(event.0, call)
        {
            let Some(over) = self.endings[record] else {
                self.waiting.push((record, lane));
                return false;
            };
            left = left.max(over.time);
            ending = Some(over);
        }
        let stream = &mut self.streams[lane];
        if issued >= stream.cleared {
            stream.seen.clear();
        }
        stream.passed += 1;
        if matches!(self.program.body[call], Call::Record { .. }) {
            let mut last = stream.last;
            if last.time < issued {
                let device = stream.traits.device.0;
                last = Ending { time: issued, call: Some(call), device, ..last };
            }
            let later = |last: Ending, one: &Ending| if one.time > last.time { *one } else { last };
            let over = stream.awaited.iter().fold(last, later);
            left = over.time;
            self.endings[call] = Some(over);
        }
        stream.awaited.extend(ending);
        stream.cleared = stream.cleared.max(left);
        true
    }

    /// Works out when the operation at the head of a stream may start, and sends it to its engine.
    fn start(&mut self, lane: usize, call: usize) {
        let kind = self.kind_of(call).expect("an operation");
        let [issued, arrival] = [self.issued[call].expect("issued"), self.arrival(call)];
        let polls = kind == OperationKind::Kernel && !self.cost(call).in_graph;
        let beside = if polls { self.beside_waiting(lane) } else { 0.0 };
        let stream = &mut self.streams[lane];
        if issued >= stream.cleared {
            stream.seen.clear();
        }
        let is_first = !stream.seen.contains(&kind);
        stream.seen.push(kind);
        let awaited = std::mem::take(&mut stream.awaited);
        let others = awaited.into_iter().map(|ending| (ending, true, 0.0));
        let all: Vec<_> = [(stream.last, false, beside)].into_iter().chain(others).collect();
        let mut time = arrival;
        let mut missed = None;
        for (from, across, longer) in all.into_iter().filter(|one| one.0.time > issued) {
            let is_elsewhere = from.device != self.device_of(call);
            let mut nanos = if self.polls_for(call, &from).is_some() {
                missed = missed.max(self.polls_too_early(call, &from, across));
                0.0
            } else {
                longer + self.hand_over(call, &from, across, is_first)
            };
            if is_elsewhere {
                nanos += self.profile.crossing().expect("known");
            }
            // The device looks once between issue and arrival, and pays only if it was too early.
            let early = (from.time - issued) as f64 / (arrival - issued) as f64;
            let share = if from.time >= arrival { 1.0 } else { early };
            time = time.max(from.time + Span::from_nanos_f64(nanos * share).nanos());
        }
        match missed {
            None => self.set_off(call, time),
            Some(first) => {
                self.missed[call] = (first, self.queues_behind_last(call));
                if time > self.now {
                    self.events.push((time, Event::IsMissed(call)));
                } else {
                    self.miss(call);
                }
            }
        }
    }

    /// What it costs to go from one engine to another, which is nothing if that is busy.
    fn hand_over(&self, call: usize, from: &Ending, across: bool, is_first: bool) -> f64 {
        let (device, kind) = (self.device_of(call), self.kind_of(call).expect("an operation"));
        let is_busy = match kind {
            OperationKind::Kernel => self.multiprocessors[device].is_busy(),
            _ => self.engines[device][(kind as usize).min(2)].copy.is_some(),
        };
        let Some(before) = from.kind.filter(|_| !is_busy) else { return 0.0 };
        if self.cost(call).in_graph {
            return self.profile.node_hand_over(before, kind).expect("known");
        }
        let price = self.profile.hand_over(before, kind, across).expect("known");
        price.map_or(0.0, |price| if is_first { price.first.ns } else { price.queued.ns }.max(0.0))
    }

    /// Sends an operation to its engine.
    pub fn set_off(&mut self, call: usize, time: u64) {
        match self.work(call) {
            Work::Kernel { .. } => self.pass_channel(call, time),
            _ if time > self.now => self.events.push((time, Event::Joins(call))),
            _ => self.join(call),
        }
    }

    /// The channel of a kernel: streams of a device take turns.
    fn channel(&self, call: usize) -> Option<(usize, usize)> {
        let is_kernel = matches!(self.prices.cost_of(call).work, Work::Kernel { .. });
        let lane = self.lanes[call].filter(|_| is_kernel)?;
        let device = self.device_of(call);
        let before = self.streams[..lane].iter().filter(|one| one.traits.device.0 == device);
        Some((device, before.count() % CHANNELS))
    }

    /// Launches a kernel, once all that come before it in its channel have been launched.
    fn pass_channel(&mut self, call: usize, time: u64) {
        self.ready[call] = Some(time);
        let shares =
            (0..self.kernels.len()).any(|one| self.program.streams_of(DeviceId(one)) > CHANNELS);
        let mut latest = self.now;
        for other in 0..self.lanes.len() {
            let is_next =
                if shares { self.channel(other) == self.channel(call) } else { other == call };
            if !is_next {
                continue;
            }
            let Some(ready) = self.ready[other] else { return };
            latest = latest.max(ready);
            let Work::Kernel { gap, .. } = self.work(other) else { panic!("a kernel") };
            if !std::mem::replace(&mut self.is_launched[other], true) {
                self.events.push((latest, Event::Begins(other)));
                self.events.push((latest + gap.nanos(), Event::Dispatches(other)));
            }
        }
    }

    /// Gives an operation to its copy engine, or lets it go on without one.
    pub fn join(&mut self, call: usize) {
        let (device, work) = (self.device_of(call), self.work(call));
        let duration = match work {
            Work::Copy { direction, .. } => {
                return self.engines[device][direction as usize].queue.push(call);
            }
            Work::PeerCopy { .. } => return self.engines[device][2].queue.push(call),
            Work::Staged { duration, .. } => duration,
            Work::Inline { duration } | Work::OnDevice { duration } => duration,
            _ => panic!("kernels have been dispatched"),
        };
        // In a row of H2D copies, the host stages one while the last part of another is under way.
        let is_next = self.stream(call).last.time == self.now && self.queues_behind_last(call);
        let is_in_row = is_next && self.kind_of(call) == Some(OperationKind::CopyIn);
        let since = if is_in_row { self.arrival(call) } else { self.now };
        let end = self.now.max(since + duration.nanos());
        self.events.push((end, Event::Ends(call)));
        if let Work::Staged { direction, early, .. } = work {
            self.engines[device][direction as usize].go_on(self.now, end);
            let returns = self.now.max(since + duration.saturating_sub(early).nanos());
            let thread = usize::from(self.program.thread_of(call).0);
            self.events.push((returns, Event::Returns(thread)));
        }
    }
}
