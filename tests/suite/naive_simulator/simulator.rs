//! Streams and events: what comes next, and when an operation may start.

mod early;
mod host;
mod waiting_kernels;

use super::engines::{CopyEngine, Multiprocessors, share_link};
use super::polling::{Clock, Polling};
use early::Poll;
use hallway::cost::{CompiledProgram, Work};
use hallway::machine::{Direction, OperationKind};
use hallway::profile::Profile;
use hallway::program::{Call, Program};
use hallway::units::Span;

/// The end of something that others follow.
#[derive(Clone, Copy, Default)]
struct Ending {
    time: u64,
    kind: Option<OperationKind>,
}

#[derive(Default)]
struct Stream {
    /// Its calls in order, and how many of them are over.
    calls: Vec<usize>,
    passed: usize,
    /// When it was last empty of what had been issued.
    cleared: u64,
    /// The kinds of operations issued since then.
    seen: Vec<OperationKind>,
    last: Ending,
    /// When the last operation started.
    started: u64,
    /// What records and waits have added to what the next operation follows.
    awaited: Vec<Ending>,
}

#[derive(Clone, Copy)]
enum Event {
    HostReturns,
    Joins(usize),
    IsMissed(usize),
    Begins,
    Dispatches(usize),
}

/// When an activity of a call began and ended: of the host, or of the device.
pub type Spans = Vec<Option<(u64, u64)>>;

pub struct Simulator<'p> {
    program: &'p Program,
    profile: &'p Profile,
    prices: CompiledProgram<'p>,
    now: u64,
    events: Vec<(u64, Event)>,
    /// The host's next call, how far the host has got, and when it entered the call.
    next: usize,
    reached: u64,
    entered: u64,
    /// How long it takes to wake up from a wait that is not over, and what of the call comes then.
    waits: Option<[u64; 2]>,
    issued: Vec<Option<u64>>,
    endings: Vec<Option<Ending>>,
    streams: Vec<Stream>,
    /// Streams whose head waits for a record, in the order in which they came to wait.
    waiting: Vec<(usize, usize)>,
    engines: [CopyEngine; 2],
    multiprocessors: Multiprocessors,
    /// By the kind of operation, how its engine polls; no clock if engines do not.
    clock: Option<Clock>,
    polling: [Polling; 3],
    /// From when periods count for an operation that came too early, and whether only that counts.
    missed: Vec<(u64, bool)>,
    /// Kernels that the device has taken up.
    kernels: usize,
    pub host: Spans,
    pub device: Spans,
}

impl<'p> Simulator<'p> {
    pub fn new(program: &'p Program, profile: &'p Profile) -> Self {
        let prices = CompiledProgram::new(program, profile).expect("the profile knows all of it");
        let calls = program.body.len();
        let mut streams: Vec<Stream> = program.streams.iter().map(|_| Stream::default()).collect();
        for (id, call) in program.body.iter().enumerate() {
            if let (Some(stream), false) = (call.stream(), prices.cost_of(id).work == Work::Nothing)
            {
                streams[stream.0].calls.push(id);
            }
        }
        let mut simulator = Self {
            program,
            profile,
            prices,
            now: 0,
            events: Vec::new(),
            next: 0,
            reached: 0,
            entered: 0,
            waits: None,
            issued: vec![None; calls],
            endings: vec![None; calls],
            streams,
            waiting: Vec::new(),
            engines: Default::default(),
            multiprocessors: Multiprocessors::default(),
            clock: profile.latency.semaphore_polling.as_ref().map(Clock::new),
            polling: Default::default(),
            missed: vec![(0, false); calls],
            kernels: 0,
            host: vec![None; calls],
            device: vec![None; calls],
        };
        simulator.polling[OperationKind::CopyOut as usize].away = 600;
        simulator.multiprocessors.count = u64::from(profile.machine.multiprocessors);
        for way in Direction::BOTH {
            let kind = OperationKind::of_copy(way);
            let streams = simulator.streams_with(kind).len();
            let switch = profile.switch(way, streams, false).expect("known");
            simulator.engines[way as usize].switch = switch;
        }
        simulator
    }

    /// Runs the program to its end; returns the makespan.
    pub fn run(&mut self) -> u64 {
        self.issue();
        loop {
            self.fill_engines();
            let copies = self.engines.iter().filter_map(|engine| engine.copy.as_ref());
            let ends = copies.map(|copy| copy.end).chain([self.multiprocessors.next()]);
            let ends = ends.chain(self.polling.iter().filter_map(|engine| engine.next));
            let next = ends.chain(self.events.iter().map(|event| event.0)).min();
            self.now = match next {
                Some(next) if next < u64::MAX => next,
                _ => return self.now.max(self.reached),
            };
            self.step();
        }
    }

    /// Handles what is due now: the ends of copies, those of kernels, and then events in the order
    /// in which they were scheduled. Engines are filled behind the last of them.
    fn step(&mut self) {
        let now = self.now;
        let due = |engine: &CopyEngine| engine.copy.as_ref().is_some_and(|copy| copy.end <= now);
        if self.engines.iter().any(due) {
            for copy in self.engines.iter_mut().filter_map(|engine| engine.copy.as_mut()) {
                copy.go_on(now);
                if copy.left < 0.5 {
                    copy.end = copy.end.min(now);
                }
            }
        }
        for side in 0..2 {
            if due(&self.engines[side])
                && let Some(copy) = self.engines[side].finish(now)
            {
                self.finish(copy.call, copy.started);
            }
        }
        let frees_room = self.multiprocessors.next() <= now;
        while let Some(kernel) = self.multiprocessors.end(now) {
            self.kernels -= 1;
            self.finish(kernel.call, kernel.started.expect("its blocks ran"));
        }
        if frees_room {
            self.multiprocessors.dispatch(now);
        }
        self.poll();
        loop {
            let due = self.events.iter().enumerate().filter(|(_, event)| event.0 <= now);
            let Some((place, _)) = due.min_by_key(|(place, event)| (event.0, *place)) else {
                return;
            };
            match self.events.remove(place).1 {
                Event::HostReturns => {
                    self.reached = now;
                    self.leave_call();
                    self.issue();
                }
                Event::Joins(call) => self.join(call),
                Event::IsMissed(call) => self.miss(call),
                Event::Begins => self.begin_kernel(),
                Event::Dispatches(call) => {
                    let Work::Kernel { blocks, .. } = self.prices.cost_of(call).work else {
                        return;
                    };
                    let priority = self.program.streams[self.stream_of(call)].priority;
                    self.multiprocessors.queue_up((call, priority), &blocks);
                    self.multiprocessors.dispatch(now);
                }
            }
        }
    }

    /// The last record of an event before a call.
    fn recorded(&self, wanted: usize, before: usize) -> Option<usize> {
        let is_it = |call: &Call| matches!(call, Call::Record { event, .. } if event.0 == wanted);
        self.program.body[..before].iter().rposition(is_it)
    }

    fn stream_of(&self, call: usize) -> usize {
        self.program.body[call].stream().expect("it has a stream").0
    }

    /// The first call of a stream that is not over, if it has been issued.
    fn head(&self, stream: usize) -> Option<usize> {
        let Stream { calls, passed, .. } = &self.streams[stream];
        calls.get(*passed).copied().filter(|&call| self.issued[call].is_some())
    }

    fn kind_of(&self, call: usize) -> Option<OperationKind> {
        match self.prices.cost_of(call).work {
            Work::Copy { direction, .. } => Some(OperationKind::of_copy(direction)),
            Work::Kernel { .. } => Some(OperationKind::Kernel),
            Work::Record | Work::Wait | Work::Nothing => None,
            _ => panic!("not simulated here"),
        }
    }

    /// The streams with operations of a kind.
    fn streams_with(&self, kind: OperationKind) -> Vec<usize> {
        let has = |stream: &usize| {
            self.streams[*stream].calls.iter().any(|&call| self.kind_of(call) == Some(kind))
        };
        (0..self.streams.len()).filter(has).collect()
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    fn finish(&mut self, call: usize, started: u64) {
        self.device[call] = Some((started, self.now));
        let ending = Ending { time: self.now, kind: self.kind_of(call) };
        let index = self.stream_of(call);
        let stream = &mut self.streams[index];
        (stream.cleared, stream.last, stream.started) = (self.now, ending, started);
        stream.passed += 1;
        self.endings[call] = Some(ending);
        self.polling[ending.kind.expect("an operation") as usize].last = self.now;
        self.advance(index);
        self.release_host();
    }

    /// Lets a stream go on to its next operation, and then those that waited for what it passed:
    /// those that waited for the latest record first.
    fn advance(&mut self, stream: usize) {
        let mut may_go_on = vec![stream];
        while let Some(stream) = may_go_on.pop() {
            while let Some(call) = self.head(stream) {
                if self.kind_of(call).is_some() {
                    self.start(stream, call);
                    break;
                }
                if !self.pass(stream, call) {
                    break;
                }
                let freed = self.waiting.iter().filter(|waits| waits.0 == call);
                may_go_on.extend(freed.rev().map(|waits| waits.1));
                self.waiting.retain(|waits| waits.0 != call);
            }
        }
    }

    /// Passes a record or a wait at the head of a stream; returns whether it could.
    fn pass(&mut self, index: usize, call: usize) -> bool {
        let issued = self.issued[call].expect("it is at the head");
        let mut left = issued;
        let mut ending = None;
        if let Call::Wait { event, .. } = &self.program.body[call]
            && let Some(record) = self.recorded(event.0, call)
        {
            let Some(over) = self.endings[record] else {
                self.waiting.push((record, index));
                return false;
            };
            left = left.max(over.time);
            ending = Some(over);
        }
        let stream = &mut self.streams[index];
        if issued >= stream.cleared {
            stream.seen.clear();
        }
        stream.passed += 1;
        if matches!(self.program.body[call], Call::Record { .. }) {
            let last = Ending { time: stream.last.time.max(issued), ..stream.last };
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
    fn start(&mut self, index: usize, call: usize) {
        let cost = *self.prices.cost_of(call);
        let kind = self.kind_of(call).expect("an operation");
        let issued = self.issued[call].expect("it is at the head");
        let arrival = issued + cost.latency.nanos();
        let beside = if kind == OperationKind::Kernel { self.beside_waiting(index) } else { 0.0 };
        let stream = &mut self.streams[index];
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
            let nanos = match self.polls((call, kind), &from, across) {
                Poll::TooEarly(first) => {
                    missed = missed.max(Some(first));
                    0.0
                }
                Poll::InTime => 0.0,
                Poll::Never => longer + self.hand_over((from.kind, kind), across, is_first),
            };
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

    /// Sends an operation to its engine.
    fn set_off(&mut self, call: usize, time: u64) {
        match self.prices.cost_of(call).work {
            Work::Kernel { gap, .. } => {
                let time = time.max(self.now);
                self.events.push((time, Event::Begins));
                self.events.push((time + gap.nanos(), Event::Dispatches(call)));
            }
            _ if time > self.now => self.events.push((time, Event::Joins(call))),
            _ => self.join(call),
        }
    }

    /// What it costs to go from one engine to another, which is nothing if that is busy.
    fn hand_over(
        &self,
        (from, to): (Option<OperationKind>, OperationKind),
        across: bool,
        is_first: bool,
    ) -> f64 {
        let is_busy = match to {
            OperationKind::Kernel => self.multiprocessors.is_busy(),
            _ => self.engines[to as usize].copy.is_some(),
        };
        let Some(from) = from.filter(|_| !is_busy) else { return 0.0 };
        let price = self.profile.hand_over(from, to, across).expect("known");
        price.map_or(0.0, |price| if is_first { price.first.ns } else { price.queued.ns }.max(0.0))
    }

    fn join(&mut self, call: usize) {
        let side = self.kind_of(call).expect("a copy") as usize;
        let stream = self.stream_of(call);
        self.engines[side].queue.push((call, stream));
    }

    fn begin_kernel(&mut self) {
        self.kernels += 1;
        for copy in self.engines.iter_mut().filter_map(|engine| engine.copy.as_mut()) {
            copy.go_on(self.now);
            copy.run_beside_kernels();
            copy.predict_end();
        }
    }

    /// Gives idle engines their next copies, and works out anew how fast copies go.
    fn fill_engines(&mut self) {
        let longer = [self.refetching(), 1.0];
        for copy in self.engines.iter_mut().filter_map(|engine| engine.copy.as_mut()) {
            copy.go_on(self.now);
        }
        let mut began = [false; 2];
        for (side, engine) in self.engines.iter_mut().enumerate() {
            let work = |call| &self.prices.cost_of(call).work;
            began[side] = engine.start(self.now, longer[side], work);
        }
        share_link(&mut self.engines, began, self.kernels > 0);
    }
}
