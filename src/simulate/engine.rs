//! The discrete-event engine: it moves simulated time forward.

mod calls;
mod threads;

use super::channels::Channels;
use super::copies::{Copies, QueuedCopy};
use super::hand_overs::EngineView;
use super::host::{Blocked, Host};
use super::multiprocessors::Multiprocessors;
use super::operation::{Cause, Completion, Ready};
use super::polling::Polling;
use super::queue::Queue;
use super::streams::{Next, Streams};
use crate::cost::{
    CallId, CompileError, CompiledProgram, Entry, EntryId, Layout, NONE, PEER_ENGINE, Work,
};
use crate::profile::{Profile, Unknown};
use crate::program::Program;
use crate::timeline::{Activity, Lane, Reason, Timeline};
use crate::units::{Instant, Span};

/// An event at a time that is known in advance.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The host enters a call whose cost depends on what its stream still has to do.
    HostEnters,
    /// A host thread returns from its call.
    HostReturns(u16),
    /// One of several host threads has done its part of a call, which now takes effect.
    TakesEffect(u16),
    /// An operation may join the queue of its engine.
    Joins(EntryId),
    /// An operation may go on, but its engine has to find out by polling.
    IsMissed(EntryId),
    /// A kernel's gap begins. Scheduled only where copies take longer beside kernels.
    Begins(EntryId),
    /// A kernel's gap is over; its blocks may run.
    Dispatches(EntryId),
    /// An operation that occupies none of the simulated engines ends.
    Ends(EntryId),
}

/// Predicts one pass over a program's body on a machine, in steady state.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the program does not
/// fit its machine.
pub fn simulate(program: &Program, profile: &Profile) -> Result<Timeline, CompileError> {
    let timeline = CompiledProgram::new(program, profile)?.timeline();
    within_horizon(timeline.makespan).map(|_| timeline)
}

/// Like [`simulate`], of the time alone that a pass takes. That is quicker.
///
/// # Errors
/// As [`simulate`].
pub fn makespan(program: &Program, profile: &Profile) -> Result<Span, CompileError> {
    within_horizon(CompiledProgram::new(program, profile)?.makespan())
}

/// The time of a pass, if it was simulated to its end.
pub(super) fn within_horizon(makespan: Span) -> Result<Span, CompileError> {
    if makespan < Span::LONGEST {
        return Ok(makespan);
    }
    let longest = Instant::HORIZON.since_start().in_years();
    Err(Unknown::refused(format!("a run of more than {longest}")).into())
}

impl CompiledProgram<'_> {
    /// The time that one pass over the program takes; [`Span::LONGEST`] if it goes on after
    /// [`Instant::HORIZON`].
    pub fn makespan(&self) -> Span {
        Simulation::<false>::new(self).run()
    }

    /// Everything that happens in one pass over the program until [`Instant::HORIZON`]. If it goes
    /// on after that, it takes [`Span::LONGEST`].
    pub fn timeline(&self) -> Timeline {
        let mut simulation = Simulation::<true>::new(self);
        let makespan = simulation.run();
        let mut activities = simulation.activities;
        activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
        Timeline { activities, makespan }
    }
}

/// The discrete-event engine, in one pass over a program. It works out causes and notes activities
/// only if it `LISTENS`.
struct Simulation<'p, const LISTENS: bool> {
    compiled: &'p CompiledProgram<'p>,
    layout: &'p Layout,
    now: Instant,
    queue: Queue<Event>,
    /// The host thread that makes calls now.
    host: Host,
    thread: u16,
    /// If there are several: the others, by their numbers.
    threads: Vec<Host>,
    streams: Streams<'p>,
    channels: Channels,
    /// Kernels that their channel has just let pass.
    launched: Vec<Ready>,
    /// How engines poll; `None` if hand-overs have costs instead.
    polling: Option<Polling<'p>>,
    /// Operations that the latest poll has found able to go on.
    found: Vec<EntryId>,
    copies: Copies<'p>,
    multiprocessors: Multiprocessors,
    activities: Vec<Activity>,
}

impl<'p, const LISTENS: bool> Simulation<'p, LISTENS> {
    fn new(compiled: &'p CompiledProgram<'p>) -> Self {
        let threads =
            compiled.body.structure.layout.threads.iter().max().map_or(0, |last| last + 1);
        let threads =
            (0..threads).map(|thread| Host::at(compiled.body.structure.layout.next_of(thread, 0)));
        let devices = compiled.body.devices();
        Self {
            compiled,
            layout: &compiled.body.structure.layout,
            now: Instant::START,
            queue: Queue::new(),
            host: Host::at(0),
            thread: 0,
            threads: threads.collect(),
            streams: Streams::new(compiled),
            channels: Channels::new(compiled),
            launched: Vec::new(),
            polling: compiled.polling.as_ref().map(|times| Polling::new(compiled, times)),
            found: Vec::new(),
            copies: Copies::new(compiled),
            multiprocessors: Multiprocessors::new(
                devices,
                compiled.profile.machine.multiprocessors,
            ),
            activities: Vec::new(),
        }
    }

    fn run(&mut self) -> Span {
        if self.layout.has_threads() {
            self.begin_threads();
        } else {
            self.issue();
        }
        loop {
            let next = self.queue.next().min(self.multiprocessors.next).min(self.next_poll());
            // Engines are filled once everything that becomes ready at this moment is known.
            if self.copies.changed && next > self.now {
                if self.compiled.slows_copies_down() {
                    self.slow_down_copies();
                }
                self.copies.fill(self.now);
            }
            let next = next.min(self.copies.next);
            if next > Instant::HORIZON {
                if next != Instant::NEVER {
                    return Span::LONGEST;
                }
                break;
            }
            self.now = next;
            self.step();
        }
        assert!(self.has_made_all(), "a checked plan runs to its end");
        let end = self.now.max(self.host.reached);
        if end > Instant::HORIZON { Span::LONGEST } else { end.since_start() }
    }

    #[inline(always)]
    fn next_poll(&self) -> Instant {
        self.polling.as_ref().map_or(Instant::NEVER, |polling| polling.next)
    }

    /// Handles everything that is due now: ends before beginnings.
    #[inline(always)]
    fn step(&mut self) {
        self.copies.prepare(self.now);
        self.multiprocessors.prepare(self.now);
        while let Some(ended) = self.next_end() {
            self.finish(ended);
        }
        if self.next_poll() <= self.now {
            self.poll();
        }
        while let Some(event) = self.queue.pop_due(self.now) {
            match event {
                Event::Dispatches(id) => self.dispatch(id),
                _ => self.go_on_with(event),
            }
        }
    }

    /// The next operation that an engine finishes now.
    #[inline(always)]
    fn next_end(&mut self) -> Option<Completion> {
        let copy = self.copies.collect(self.now);
        if copy.is_some() { copy } else { self.multiprocessors.collect(self.now) }
    }

    /// Lets the blocks of a kernel run.
    #[inline(always)]
    fn dispatch(&mut self, id: EntryId) {
        if let Work::Kernel { blocks, .. } = &self.streams.cost_of(id).work {
            let stream = usize::from(self.layout.entry(id).stream);
            self.multiprocessors.start(self.now, (id, &self.layout.traits[stream]), blocks);
        }
    }

    /// Handles the rarer events.
    #[inline(never)]
    fn go_on_with(&mut self, event: Event) {
        match event {
            Event::HostEnters => {
                self.host.blocked = Blocked::No;
                self.issue();
            }
            Event::HostReturns(thread) => {
                if self.layout.has_threads() {
                    self.turn_to(thread);
                    self.host.reached = self.now;
                    return self.leave_call();
                }
                self.host.reached = self.now;
                self.leave();
                self.issue();
            }
            Event::TakesEffect(thread) => self.take_effect(thread),
            Event::Joins(id) => {
                let work = &self.streams.cost_of(id).work;
                self.join((id, self.layout.entry(id)), work);
            }
            Event::IsMissed(id) => self.miss(id),
            Event::Begins(id) => {
                let stream = self.layout.entry(id).stream;
                self.copies.begin_kernel(self.layout.device_of(stream), self.now);
            }
            Event::Dispatches(id) => self.dispatch(id),
            Event::Ends(entry) => {
                let duration = self.streams.cost_of(entry).work.by_itself();
                let started = self.now.earlier_by(duration);
                // In a row of staged copies, the host worked on this one before the previous one
                // ended.
                let stream = self.layout.entry(entry).stream;
                let started = started.max(self.streams.cleared(stream));
                let ended = Completion { entry, started, before: NONE };
                self.finish(ended);
            }
        }
    }

    /// Lets a stream go on, and then the streams that waited for it. What becomes ready joins its
    /// engine in the order in which it became ready.
    #[inline(always)]
    fn advance(&mut self, stream: u16) {
        let mut next = Some(stream);
        while let Some(stream) = next {
            if let Some(head) = self.streams.advance(stream) {
                self.start(head);
            }
            next = self.streams.freed();
        }
    }

    /// Starts the head of a stream.
    #[inline(always)]
    fn start(&mut self, (id, entry): (EntryId, &'p Entry)) {
        let Self { now, copies, multiprocessors, .. } = self;
        let engines = EngineView { now: *now, copies, multiprocessors };
        let head = (id, entry);
        let Next { time, cost, is_missed } = self.streams.start::<LISTENS>(head, engines);
        if !is_missed {
            self.set_off((time, id), (entry, &cost.work));
        } else if time <= self.now {
            self.miss(id);
        } else {
            self.queue.schedule(time, Event::IsMissed(id));
        }
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    #[cold]
    #[inline]
    fn miss(&mut self, id: EntryId) {
        if let Some(polling) = &mut self.polling {
            polling.wait((&self.streams, id), self.now);
        }
    }

    /// Starts the operations that engines have just found able to go on, in the order in which they
    /// became so.
    #[inline]
    fn poll(&mut self) {
        if let Some(polling) = &mut self.polling {
            polling.collect(self.now, &mut self.found);
        }
        for index in 0..self.found.len() {
            let id = self.found[index];
            let entry = self.layout.entry(id);
            self.streams.found(entry.stream, self.now);
            let work = &self.streams.cost_of(id).work;
            self.set_off((self.now, id), (entry, work));
        }
        self.found.clear();
    }

    /// Sends an operation to its engine.
    #[inline(always)]
    fn set_off(&mut self, (time, id): Ready, (entry, work): (&Entry, &Work)) {
        match *work {
            Work::Kernel { .. } if self.channels.are_shared() => {
                self.pass_channel((time, id));
            }
            Work::Kernel { gap, .. } => self.launch((time, id), gap),
            _ if time > self.now => self.queue.schedule(time, Event::Joins(id)),
            _ => self.join((id, entry), work),
        }
    }

    /// Launches the kernels that their channel lets pass now.
    #[cold]
    #[inline]
    fn pass_channel(&mut self, kernel: Ready) {
        self.channels.pass(self.compiled, kernel, &mut self.launched);
        for index in 0..self.launched.len() {
            let (time, id) = self.launched[index];
            if let Work::Kernel { gap, .. } = self.streams.cost_of(id).work {
                self.launch((time, id), gap);
            }
        }
        self.launched.clear();
    }

    /// Launches a kernel. Its gap has no effect on anything but copies that take longer beside
    /// kernels.
    #[inline(always)]
    fn launch(&mut self, (time, id): Ready, gap: Span) {
        let start = time.max(self.now);
        if self.compiled.copies.slow_beside_kernels {
            self.queue.schedule(start, Event::Begins(id));
        }
        self.queue.schedule(start + gap, Event::Dispatches(id));
    }

    #[inline(always)]
    fn join(&mut self, (id, entry): (EntryId, &Entry), work: &Work) {
        let (engine, alone) = match *work {
            Work::Copy { direction, alone, .. } => (direction as usize, alone),
            Work::PeerCopy { alone, .. } => (PEER_ENGINE, alone),
            _ => return self.go_without_engine((id, entry), work),
        };
        let &Entry { call, stream, .. } = entry;
        let copy = QueuedCopy { entry: id, call, stream, joined: self.now, alone };
        let device = self.layout.device_of(stream);
        self.copies.enqueue((device, engine), copy);
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    #[inline(always)]
    fn finish(&mut self, ended: Completion) {
        let entry = self.layout.entry(ended.entry);
        if LISTENS {
            let cause = self.cause_of(&ended);
            let lane = lane_of(&self.compiled.body.cost_of(entry.call).work);
            self.note(lane, entry.call, [ended.started, self.now], cause);
        }
        let kind = self.streams.end(entry, (ended.started, self.now));
        let device = self.layout.device_of(entry.stream);
        let cost = self.compiled.body.cost_in(ended.entry);
        if let Some(polling) = &mut self.polling {
            polling.done((device, kind), cost.in_graph, self.now);
        }
        if self.compiled.copies.slow_beside_kernels && matches!(cost.work, Work::Kernel { .. }) {
            self.copies.end_kernel(device);
        }
        self.advance(entry.stream);
        if !self.threads.is_empty() {
            return self.release_threads(entry.call);
        }
        self.release_host(entry.call);
    }

    /// Notes what was done in a call from its start to its end.
    fn note(&mut self, lane: Lane, call: CallId, [start, end]: [Instant; 2], cause: Cause) {
        let (call, cause) = (call as usize, cause.noted());
        self.activities.push(Activity { lane, call, start, end, cause });
    }

    /// The last thing that kept an operation from starting earlier.
    fn cause_of(&self, ended: &Completion) -> Cause {
        let &Completion { entry, started, before } = ended;
        let list = &self.layout.entries.list;
        let cause = self.streams.cause(list[entry as usize].stream);
        let gap = match self.streams.cost_of(entry).work {
            Work::Kernel { gap, .. } => gap,
            _ => Span::ZERO,
        };
        if started > cause.ready + gap && before != NONE {
            let before = list[before as usize].call;
            Cause { reason: Reason::Engine, before, ready: started }
        } else {
            cause
        }
    }
}

/// The lane of an operation.
fn lane_of(work: &Work) -> Lane {
    match work {
        Work::Copy { direction, .. } | Work::Staged { direction, .. } => Lane::of(*direction),
        Work::Inline { .. } => Lane::CopyIn,
        Work::PeerCopy { .. } => Lane::PeerCopy,
        _ => Lane::Kernels,
    }
}
