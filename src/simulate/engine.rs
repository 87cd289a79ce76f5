//! The discrete-event engine: it moves simulated time forward.

mod calls;
mod slowdowns;
mod threads;

use super::channels::Channels;
use super::copies::{Copies, QueuedCopy};
use super::engines::EngineView;
use super::horizon::within_horizon;
use super::host::{Blocked, Host};
use super::multiprocessors::Multiprocessors;
use super::observer::{Cause, Done, Observer, Recorder};
use super::operation::{Completion, Ready};
use super::polling::Polling;
use super::queue::Queue;
use super::streams::{Next, Streams};
use crate::cost::{CompileError, CompiledProgram, Entry, EntryId, NONE, PEER_ENGINE, Work};
use crate::profile::Profile;
use crate::program::Program;
use crate::timeline::{Reason, Timeline};
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
    let timeline = Simulator::default().timeline(&CompiledProgram::new(program, profile)?);
    within_horizon(timeline.makespan).map(|_| timeline)
}

/// Like [`simulate`], of the time alone that a pass takes. That is quicker.
///
/// # Errors
/// As [`simulate`].
pub fn makespan(program: &Program, profile: &Profile) -> Result<Span, CompileError> {
    within_horizon(Simulator::default().makespan(&CompiledProgram::new(program, profile)?))
}

/// The discrete-event engine. It keeps its memory from one program to the next.
#[derive(Default)]
pub struct Simulator {
    now: Instant,
    queue: Queue<Event>,
    /// The host thread that makes calls now.
    host: Host,
    thread: u16,
    /// If there are several: the others, by their numbers.
    threads: Vec<Host>,
    streams: Streams,
    channels: Channels,
    /// Kernels that their channel has just let pass.
    launched: Vec<Ready>,
    polling: Polling,
    /// Operations that the latest poll has found able to go on.
    found: Vec<EntryId>,
    copies: Copies,
    multiprocessors: Multiprocessors,
}

impl Simulator {
    /// The time that one pass over the program takes; [`Span::LONGEST`] if it goes on after
    /// [`Instant::HORIZON`].
    pub fn makespan(&mut self, compiled: &CompiledProgram<'_>) -> Span {
        self.run(compiled, &mut ())
    }

    /// Everything that happens in one pass over the program until [`Instant::HORIZON`]. If it goes
    /// on after that, it takes [`Span::LONGEST`].
    pub fn timeline(&mut self, compiled: &CompiledProgram<'_>) -> Timeline {
        let mut recorder = Recorder::default();
        let makespan = self.run(compiled, &mut recorder);
        recorder.timeline(makespan)
    }

    fn run(&mut self, compiled: &CompiledProgram<'_>, observer: &mut impl Observer) -> Span {
        self.now = Instant::START;
        self.queue.reset();
        self.host = Host::default();
        self.reset_threads(compiled);
        self.streams.reset(compiled);
        self.channels.reset(compiled);
        self.polling.reset(compiled);
        self.copies.reset(compiled);
        self.multiprocessors
            .reset(compiled.body.devices(), compiled.profile.machine.multiprocessors);
        if compiled.body.threads.are_several() {
            self.begin_threads(compiled);
        } else {
            self.issue(compiled, observer);
        }
        loop {
            let next = self.queue.next().min(self.multiprocessors.next).min(self.polling.next);
            // Engines are filled once everything that becomes ready at this moment is known.
            if self.copies.changed && next > self.now {
                if compiled.slows_copies_down() {
                    self.slow_down_copies(compiled);
                }
                self.copies.fill(compiled, self.now);
            }
            let next = next.min(self.copies.next);
            if next > Instant::HORIZON {
                if next != Instant::NEVER {
                    return Span::LONGEST;
                }
                break;
            }
            self.now = next;
            self.step(compiled, observer);
        }
        assert!(self.has_made_all(compiled), "a checked plan runs to its end");
        let end = self.now.max(self.host.reached);
        if end > Instant::HORIZON { Span::LONGEST } else { end.since_start() }
    }

    /// Handles everything that is due now: ends before beginnings.
    #[inline(always)]
    fn step<O: Observer>(&mut self, compiled: &CompiledProgram<'_>, observer: &mut O) {
        self.copies.prepare(self.now);
        self.multiprocessors.prepare(self.now);
        while let Some(ended) = self.next_end() {
            self.finish(compiled, ended, observer);
        }
        if self.polling.next <= self.now {
            self.poll(compiled);
        }
        while let Some(event) = self.queue.pop_due(self.now) {
            match event {
                Event::Dispatches(id) => self.dispatch(compiled, id),
                _ => self.go_on_with(compiled, event, observer),
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
    fn dispatch(&mut self, compiled: &CompiledProgram<'_>, id: EntryId) {
        if let Work::Kernel { blocks, .. } = &self.streams.cost_of(compiled, id).work {
            let stream = usize::from(compiled.body.entry(id).stream);
            self.multiprocessors.start(self.now, (id, &compiled.body.traits[stream]), blocks);
        }
    }

    /// Handles the rarer events.
    #[inline(never)]
    fn go_on_with<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        event: Event,
        observer: &mut O,
    ) {
        match event {
            Event::HostEnters => {
                self.host.blocked = Blocked::No;
                self.issue(compiled, observer);
            }
            Event::HostReturns(thread) => {
                if compiled.body.threads.are_several() {
                    self.turn_to(thread);
                    self.host.reached = self.now;
                    return self.leave_call(compiled, observer);
                }
                self.host.reached = self.now;
                self.host.leave(observer);
                self.issue(compiled, observer);
            }
            Event::TakesEffect(thread) => self.take_effect(compiled, thread, observer),
            Event::Joins(id) => {
                let work = &self.streams.cost_of(compiled, id).work;
                self.join(compiled, (id, compiled.body.entry(id)), work);
            }
            Event::IsMissed(id) => self.miss(compiled, id),
            Event::Begins(id) => {
                let stream = compiled.body.entry(id).stream;
                self.copies.begin_kernel(compiled.body.device_of(stream), self.now);
            }
            Event::Dispatches(id) => self.dispatch(compiled, id),
            Event::Ends(entry) => {
                let duration = self.streams.cost_of(compiled, entry).work.by_itself();
                let started = self.now.earlier_by(duration);
                // In a row of staged copies, the host worked on this one before the previous one
                // ended.
                let stream = compiled.body.entry(entry).stream;
                let started = started.max(self.streams.cleared(stream));
                let ended = Completion { entry, started, before: NONE };
                self.finish(compiled, ended, observer);
            }
        }
    }

    /// Lets a stream go on, and then the streams that waited for it. What becomes ready joins its
    /// engine in the order in which it became ready.
    #[inline(always)]
    fn advance<O: Observer>(&mut self, compiled: &CompiledProgram<'_>, stream: u16) {
        let mut next = Some(stream);
        while let Some(stream) = next {
            if let Some(head) = self.streams.advance(compiled, stream) {
                self.start::<O>(compiled, head);
            }
            next = self.streams.freed();
        }
    }

    /// Starts the head of a stream.
    #[inline(always)]
    fn start<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
    ) {
        let Self { now, copies, multiprocessors, .. } = self;
        let engines = EngineView { now: *now, copies, multiprocessors };
        let head = (id, entry);
        let Next { time, cost, is_missed } = self.streams.start::<O>(compiled, head, engines);
        if !is_missed {
            self.set_off(compiled, (time, id), (entry, &cost.work));
        } else if time <= self.now {
            self.miss(compiled, id);
        } else {
            self.queue.schedule(time, Event::IsMissed(id));
        }
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    #[cold]
    #[inline]
    fn miss(&mut self, compiled: &CompiledProgram<'_>, id: EntryId) {
        if let Some(times) = &compiled.polling {
            self.polling.wait(compiled, times, (&self.streams, id), self.now);
        }
    }

    /// Starts the operations that engines have just found able to go on, in the order in which they
    /// became so.
    #[inline]
    fn poll(&mut self, compiled: &CompiledProgram<'_>) {
        self.polling.collect(self.now, &mut self.found);
        for index in 0..self.found.len() {
            let id = self.found[index];
            let entry = compiled.body.entry(id);
            self.streams.found(entry.stream, self.now);
            let work = &self.streams.cost_of(compiled, id).work;
            self.set_off(compiled, (self.now, id), (entry, work));
        }
        self.found.clear();
    }

    /// Sends an operation to its engine.
    #[inline(always)]
    fn set_off(
        &mut self,
        compiled: &CompiledProgram<'_>,
        (time, id): Ready,
        (entry, work): (&Entry, &Work),
    ) {
        match *work {
            Work::Kernel { .. } if !compiled.channels.places.is_empty() => {
                self.pass_channel(compiled, (time, id));
            }
            Work::Kernel { gap, .. } => self.launch(compiled, (time, id), gap),
            _ if time > self.now => self.queue.schedule(time, Event::Joins(id)),
            _ => self.join(compiled, (id, entry), work),
        }
    }

    /// Launches the kernels that their channel lets pass now.
    #[cold]
    #[inline]
    fn pass_channel(&mut self, compiled: &CompiledProgram<'_>, kernel: Ready) {
        self.channels.pass(compiled, kernel, &mut self.launched);
        for index in 0..self.launched.len() {
            let (time, id) = self.launched[index];
            if let Work::Kernel { gap, .. } = self.streams.cost_of(compiled, id).work {
                self.launch(compiled, (time, id), gap);
            }
        }
        self.launched.clear();
    }

    /// Launches a kernel. Its gap has no effect on anything but copies that take longer beside
    /// kernels.
    #[inline(always)]
    fn launch(&mut self, compiled: &CompiledProgram<'_>, (time, id): Ready, gap: Span) {
        let start = time.max(self.now);
        if compiled.copies.slow_beside_kernels {
            self.queue.schedule(start, Event::Begins(id));
        }
        self.queue.schedule(start + gap, Event::Dispatches(id));
    }

    #[inline(always)]
    fn join(
        &mut self,
        compiled: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
        work: &Work,
    ) {
        let (engine, alone) = match *work {
            Work::Copy { direction, alone, .. } => (direction as usize, alone),
            Work::PeerCopy { alone, .. } => (PEER_ENGINE, alone),
            _ => return self.go_without_engine(compiled, (id, entry), work),
        };
        let stream = entry.stream;
        let copy = QueuedCopy { entry: id, stream, alone };
        let device = compiled.body.device_of(stream);
        self.copies.enqueue((device, engine), copy);
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    #[inline(always)]
    fn finish<O: Observer>(
        &mut self,
        compiled: &CompiledProgram<'_>,
        ended: Completion,
        observer: &mut O,
    ) {
        let entry = compiled.body.entry(ended.entry);
        if O::LISTENS {
            let cause = self.cause_of(compiled, &ended);
            observer.device(
                compiled,
                Done { call: entry.call, start: ended.started, end: self.now, cause },
            );
        }
        let kind = self.streams.end(compiled, entry, (ended.started, self.now));
        if compiled.polling.is_some() {
            let in_graph = compiled.body.cost_in(ended.entry).in_graph;
            self.polling.done((compiled.body.device_of(entry.stream), kind), in_graph, self.now);
        }
        if compiled.copies.slow_beside_kernels
            && matches!(compiled.body.cost_in(ended.entry).work, Work::Kernel { .. })
        {
            self.copies.end_kernel(compiled.body.device_of(entry.stream));
        }
        self.advance::<O>(compiled, entry.stream);
        if !self.threads.is_empty() {
            return self.release_threads(compiled, entry.call);
        }
        self.release_host(compiled, entry.call);
    }

    /// The last thing that kept an operation from starting earlier.
    fn cause_of(&self, compiled: &CompiledProgram<'_>, ended: &Completion) -> Cause {
        let &Completion { entry, started, before } = ended;
        let list = &compiled.body.entries.list;
        let cause = self.streams.cause(compiled, list[entry as usize].stream);
        let gap = match self.streams.cost_of(compiled, entry).work {
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
