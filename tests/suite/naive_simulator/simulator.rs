//! The simulator's state, and its steps from event to event.

use super::copies::CopyEngine;
use super::multiprocessors::Multiprocessors;
use super::polling::Poller;
use hallway::cost::{CallCost, CompiledProgram, Work};
use hallway::machine::OperationKind;
use hallway::profile::Profile;
use hallway::program::{Graph, Program, StreamKind, StreamTraits};

pub const CHANNELS: usize = 8;

/// The end of something that others follow: when it was, which call's, and where.
#[derive(Clone, Copy, Default)]
pub struct Ending {
    pub time: u64,
    pub call: Option<usize>,
    pub device: usize,
    pub kind: Option<OperationKind>,
}

#[derive(Default)]
pub struct Stream {
    pub traits: StreamTraits,
    /// Its calls in order, and how many of them are over.
    pub calls: Vec<usize>,
    pub passed: usize,
    /// When it was last empty, and the kinds of operations issued since.
    pub cleared: u64,
    pub seen: Vec<OperationKind>,
    pub last: Ending,
    /// When the last operation started.
    pub started: u64,
    /// What records and waits have added to what the next operation follows.
    pub awaited: Vec<Ending>,
    pub is_held_back: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Thread {
    pub next: Option<usize>,
    pub entered: u64,
    pub reached: u64,
    /// If it waits: how long it takes to wake up, and for the rest of the call.
    pub waits: Option<[u64; 2]>,
}

#[derive(Clone, Copy)]
pub enum Event {
    TakesEffect(usize),
    Returns(usize),
    Joins(usize),
    IsMissed(usize),
    Begins(usize),
    Dispatches(usize),
    Ends(usize),
}

/// When an activity of a call began and ended: of the host, or of the device.
pub type Spans = Vec<Option<(u64, u64)>>;

pub struct Simulator<'p> {
    pub program: &'p Program,
    pub profile: &'p Profile,
    pub prices: CompiledProgram<'p>,
    pub graphs: Vec<Graph>,
    pub lanes: Vec<Option<usize>>,
    pub now: u64,
    pub events: Vec<(u64, Event)>,
    pub threads: Vec<Thread>,
    pub resumed: u64,
    /// Calls in the order in which they were issued, and when each was.
    pub order: Vec<usize>,
    pub issued: Vec<Option<u64>>,
    /// Copies that travel with their command.
    pub inline: Vec<bool>,
    pub endings: Vec<Option<Ending>>,
    /// From when polling periods count for what came too early, and whether nothing else does.
    pub missed: Vec<(u64, bool)>,
    pub streams: Vec<Stream>,
    /// Streams whose head waits for a record, in the order in which they came to wait.
    pub waiting: Vec<(usize, usize)>,
    /// When kernels may start as far as their channel lets them, and which it has let pass.
    pub ready: Vec<Option<u64>>,
    pub is_launched: Vec<bool>,
    /// How many kernels each device has taken up.
    pub kernels: Vec<u32>,
    pub engines: Vec<[CopyEngine; 3]>,
    pub multiprocessors: Vec<Multiprocessors>,
    pub pollers: Vec<[Poller; 4]>,
    pub host: Spans,
    pub device: Spans,
}

impl<'p> Simulator<'p> {
    pub fn new(program: &'p Program, profile: &'p Profile) -> Self {
        let (calls, devices) = (program.body.len(), program.devices().max(1));
        let multiprocessors = || Multiprocessors::new(profile.machine.multiprocessors);
        let mut simulator = Self {
            program,
            profile,
            prices: CompiledProgram::new(program, profile).expect("the profile knows all of it"),
            graphs: program.graphs().collect(),
            lanes: program.lanes(),
            now: 0,
            events: Vec::new(),
            threads: vec![Thread::default(); program.thread_count()],
            resumed: 0,
            order: Vec::new(),
            issued: vec![None; calls],
            inline: vec![false; calls],
            endings: vec![None; calls],
            missed: vec![(0, false); calls],
            streams: Vec::new(),
            waiting: Vec::new(),
            ready: vec![None; calls],
            is_launched: vec![false; calls],
            kernels: vec![0; devices],
            engines: (0..devices).map(|_| Default::default()).collect(),
            multiprocessors: (0..devices).map(|_| multiprocessors()).collect(),
            pollers: (0..devices).map(|_| Default::default()).collect(),
            host: vec![None; calls],
            device: vec![None; calls],
        };
        for lane in 0..program.lane_count() {
            let mut traits = program.streams[lane % program.streams.len()];
            if lane >= program.streams.len() {
                traits.kind = StreamKind::NonBlocking;
            }
            let is_here = |call: &usize| {
                simulator.lanes[*call] == Some(lane) && simulator.work(*call) != Work::Nothing
            };
            let calls = (0..calls).filter(is_here).collect();
            simulator.streams.push(Stream { traits, calls, ..Stream::default() });
        }
        simulator
    }

    /// Runs the program to its end; returns the makespan.
    pub fn run(&mut self) -> u64 {
        (0..self.threads.len()).for_each(|thread| self.enter_next(thread, 0));
        loop {
            let pollers = self.pollers.as_flattened().iter().filter_map(|one| one.next);
            let kernels = self.multiprocessors.iter().map(Multiprocessors::next);
            let events = self.events.iter().map(|event| event.0);
            let mut next = pollers.chain(kernels).chain(events).min().unwrap_or(u64::MAX);
            if next > self.now {
                self.fill_engines();
                next = next.min(self.next_copy());
            }
            if next == u64::MAX {
                return self.now;
            }
            self.now = next;
            self.step();
        }
    }

    /// Handles what is due now: the ends of copies, those of kernels, polls, and then events in the
    /// order in which they were scheduled.
    fn step(&mut self) {
        let now = self.now;
        self.end_copies();
        for device in 0..self.multiprocessors.len() {
            let frees_room = self.multiprocessors[device].next() <= now;
            while let Some((call, started)) = self.multiprocessors[device].end(now) {
                self.finish(call, started);
            }
            if frees_room {
                self.multiprocessors[device].dispatch(now);
            }
        }
        self.poll();
        loop {
            let due = self.events.iter().enumerate().filter(|(_, event)| event.0 <= now);
            let Some((place, _)) = due.min_by_key(|(place, event)| (event.0, *place)) else {
                return;
            };
            match self.events.remove(place).1 {
                Event::TakesEffect(thread) => self.take_effect(thread),
                Event::Returns(thread) => {
                    self.threads[thread].reached = now;
                    self.resume();
                    self.leave(thread);
                }
                Event::Joins(call) => self.join(call),
                Event::IsMissed(call) => self.miss(call),
                Event::Begins(call) => self.begin_kernel(self.device_of(call)),
                Event::Dispatches(call) => {
                    let (device, work) = (self.device_of(call), self.work(call));
                    let Work::Kernel { blocks, .. } = work else { panic!("a kernel") };
                    let priority = self.stream(call).traits.priority;
                    self.multiprocessors[device].queue_up(call, priority, blocks, now);
                }
                Event::Ends(call) => {
                    let lasts = match self.work(call) {
                        Work::Staged { duration, .. } => duration,
                        Work::Inline { duration } | Work::OnDevice { duration } => duration,
                        _ => panic!("it uses no engine"),
                    };
                    let started = now.saturating_sub(lasts.nanos()).max(self.stream(call).cleared);
                    self.finish(call, started);
                }
            }
        }
    }

    pub fn cost(&self, call: usize) -> &CallCost {
        let inline = self.prices.inline_cost_of(call).filter(|_| self.inline[call]);
        inline.unwrap_or_else(|| self.prices.cost_of(call))
    }

    pub fn work(&self, call: usize) -> Work {
        self.cost(call).work
    }

    pub fn stream(&self, call: usize) -> &Stream {
        &self.streams[self.lanes[call].expect("it has a stream")]
    }

    pub fn device_of(&self, call: usize) -> usize {
        self.stream(call).traits.device.0
    }

    pub fn kind_of(&self, call: usize) -> Option<OperationKind> {
        if self.inline[call] { Some(OperationKind::Kernel) } else { self.usual_kind_of(call) }
    }

    /// The kind of an operation if its data does not travel with its command.
    pub fn usual_kind_of(&self, call: usize) -> Option<OperationKind> {
        match self.prices.cost_of(call).work {
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => {
                Some(OperationKind::of_copy(direction))
            }
            Work::PeerCopy { .. } => Some(OperationKind::PeerCopy),
            Work::Kernel { .. } | Work::Inline { .. } | Work::OnDevice { .. } => {
                Some(OperationKind::Kernel)
            }
            Work::Record | Work::Wait | Work::Nothing => None,
        }
    }

    /// The first call of a stream that is not over, if it has been issued.
    pub fn head(&self, stream: usize) -> Option<usize> {
        let Stream { calls, passed, .. } = &self.streams[stream];
        calls.get(*passed).copied().filter(|&call| self.issued[call].is_some())
    }

    /// When an operation reaches the device.
    pub fn arrival(&self, call: usize) -> u64 {
        self.issued[call].expect("issued") + self.cost(call).latency.nanos()
    }
}
