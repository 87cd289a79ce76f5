//! The discrete-event engine: it moves simulated time forward.

mod calls;

use super::channels::Channels;
use super::copies::{Asked, Copies, Ended, PEER_ENGINE};
use super::entries::{Entry, EntryId};
use super::host::{Blocked, Host};
use super::looks::Looks;
use super::observer::{Cause, Done, Observer, Recorder};
use super::operation::{NONE, Work};
use super::processors::Processors;
use super::program::{CompiledProgram, SimulateError};
use super::queue::Queue;
use super::streams::{Engines, Next, Ready, Streams};
use crate::profile::Profile;
use crate::program::Program;
use crate::timeline::{Reason, Timeline};
use crate::units::{Instant, Span};

/// An event at a time that is known in advance.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The host enters a call whose cost depends on what its stream still has to do.
    HostLooks,
    /// The host returns from its call.
    HostReturns,
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

/// Predicts one pass over a plan's body on a machine, in steady state.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the plan does not
/// fit its machine.
pub fn simulate(plan: &Program, profile: &Profile) -> Result<Timeline, SimulateError> {
    Ok(Simulator::default().timeline(&CompiledProgram::new(plan, profile)?))
}

/// The discrete-event engine. It keeps its memory from one program to the next.
#[derive(Default)]
pub struct Simulator {
    now: Instant,
    queue: Queue<Event>,
    host: Host,
    streams: Streams,
    channels: Channels,
    /// Kernels that their channel has just let pass.
    launched: Vec<Ready>,
    looks: Looks,
    /// Operations that the latest poll has found able to go on.
    found: Vec<EntryId>,
    copies: Copies,
    processors: Processors,
}

impl Simulator {
    /// The time that one pass over the program takes.
    pub fn makespan(&mut self, program: &CompiledProgram<'_>) -> Span {
        if program.is_plain {
            self.run::<true>(program, &mut ())
        } else {
            self.run::<false>(program, &mut ())
        }
    }

    /// Everything that happens in one pass over the program.
    pub fn timeline(&mut self, program: &CompiledProgram<'_>) -> Timeline {
        let mut recorder = Recorder::default();
        let makespan = self.run::<false>(program, &mut recorder);
        recorder.timeline(makespan)
    }

    /// `PLAIN`: for a plain program, see [`super::plain`].
    fn run<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        observer: &mut impl Observer,
    ) -> Span {
        self.now = Instant::START;
        self.queue.reset();
        self.host = Host::default();
        self.streams.reset(program);
        self.channels.reset(program);
        self.looks.reset(program);
        self.copies.reset(program);
        self.processors.reset(program.devices(), program.profile.machine.multiprocessors);
        self.issue::<_, PLAIN>(program, observer);
        loop {
            let next = self.queue.next().min(self.processors.next);
            let next = if PLAIN { next } else { next.min(self.looks.next) };
            // Fills engines only after everything that becomes ready at this very moment.
            if self.copies.changed && next > self.now {
                if !PLAIN && !program.refetched.is_empty() {
                    self.slow_down_copies(program);
                }
                self.copies.fill::<PLAIN>(program, self.now);
            }
            let next = next.min(self.copies.next);
            if next == Instant::NEVER {
                break;
            }
            self.now = next;
            self.step::<_, PLAIN>(program, observer);
        }
        assert_eq!(self.host.next as usize, program.items.len(), "a checked plan runs to its end");
        self.now.max(self.host.reached).since_start()
    }

    /// Sets what copies to each device that start now pay for waiting kernels. What changes while a
    /// copy is under way is left out.
    #[cold]
    fn slow_down_copies(&mut self, program: &CompiledProgram<'_>) {
        for device in 0..program.devices() {
            if self.copies.begins_down(device) {
                let slowdown = self.streams.refetching(program, device, self.now);
                self.copies.slow_down(device, slowdown);
            }
        }
    }

    /// Handles everything that is due now: ends before beginnings.
    #[inline(always)]
    fn step<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        observer: &mut O,
    ) {
        self.copies.prepare::<PLAIN>(self.now);
        self.processors.prepare(self.now);
        while let Some(ended) = self.next_end::<PLAIN>() {
            self.finish::<O, PLAIN>(program, ended, observer);
        }
        if !PLAIN && self.looks.next <= self.now {
            self.look(program);
        }
        while let Some(event) = self.queue.pop_due(self.now) {
            match event {
                Event::Dispatches(id) => self.dispatch::<PLAIN>(program, id),
                _ => self.go_on_with::<O, PLAIN>(program, event, observer),
            }
        }
    }

    /// The next operation that an engine finishes now.
    #[inline(always)]
    fn next_end<const PLAIN: bool>(&mut self) -> Option<Ended> {
        let copy = self.copies.collect::<PLAIN>(self.now);
        if copy.is_some() { copy } else { self.processors.collect(self.now) }
    }

    /// Lets the blocks of a kernel run.
    #[inline(always)]
    fn dispatch<const PLAIN: bool>(&mut self, program: &CompiledProgram<'_>, id: EntryId) {
        if let Work::Kernel { blocks, .. } = &self.streams.class_of::<PLAIN>(program, id).work {
            let stream = usize::from(program.entries.list[id as usize].stream);
            self.processors.start(self.now, (id, &program.traits[stream]), blocks);
        }
    }

    /// Handles the rarer events.
    #[inline(never)]
    fn go_on_with<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        event: Event,
        observer: &mut O,
    ) {
        match event {
            Event::HostLooks => {
                self.host.blocked = Blocked::No;
                self.issue::<O, PLAIN>(program, observer);
            }
            Event::HostReturns => {
                self.host.reached = self.now;
                self.host.leave(observer);
                self.issue::<O, PLAIN>(program, observer);
            }
            Event::Joins(id) => {
                let work = &self.streams.class_of::<PLAIN>(program, id).work;
                self.join::<PLAIN>(program, (id, &program.entries.list[id as usize]), work);
            }
            Event::IsMissed(id) => self.miss(program, id),
            Event::Begins(id) => {
                let stream = program.entries.list[id as usize].stream;
                self.copies.begin_kernel(program.device_of(stream), self.now);
            }
            Event::Dispatches(id) => self.dispatch::<PLAIN>(program, id),
            Event::Ends(entry) => {
                let duration = self.streams.class_of::<PLAIN>(program, entry).work.by_itself();
                let started = self.now.earlier_by(duration);
                // In a row of staged copies, the host worked on this one before the previous one
                // ended.
                let stream = program.entries.list[entry as usize].stream;
                let started = started.max(self.streams.cleared(stream));
                let ended = Ended { entry, started, before: NONE };
                self.finish::<O, PLAIN>(program, ended, observer);
            }
        }
    }

    /// Lets a stream go on, and then the streams that waited for it. What becomes ready joins its
    /// engine in the order in which it became ready.
    #[inline(always)]
    fn advance<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        stream: u16,
    ) {
        let mut next = Some(stream);
        while let Some(stream) = next {
            if let Some(head) = self.streams.advance::<PLAIN>(program, stream) {
                self.start::<O, PLAIN>(program, head);
            }
            next = self.streams.freed();
        }
    }

    /// Starts the head of a stream.
    #[inline(always)]
    fn start<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
    ) {
        let Self { now, copies, processors, .. } = self;
        let engines = Engines { now: *now, copies, processors };
        let head = (id, entry);
        let Next { time, class, is_missed } =
            self.streams.start::<O, PLAIN>(program, head, engines);
        if PLAIN || !is_missed {
            self.set_off::<PLAIN>(program, (time, id), (entry, &class.work));
        } else if time <= self.now {
            self.miss(program, id);
        } else {
            self.queue.schedule(time, Event::IsMissed(id));
        }
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    #[cold]
    fn miss(&mut self, program: &CompiledProgram<'_>, id: EntryId) {
        if let Some(times) = &program.looks {
            self.looks.wait(program, times, (&self.streams, id), self.now);
        }
    }

    /// Starts the operations that engines have just found able to go on, in the order in which they
    /// became so.
    fn look(&mut self, program: &CompiledProgram<'_>) {
        self.looks.collect(self.now, &mut self.found);
        for index in 0..self.found.len() {
            let id = self.found[index];
            let entry = &program.entries.list[id as usize];
            self.streams.found(entry.stream, self.now);
            let work = &self.streams.class_of::<false>(program, id).work;
            self.set_off::<false>(program, (self.now, id), (entry, work));
        }
        self.found.clear();
    }

    /// Sends an operation to its engine.
    #[inline(always)]
    fn set_off<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        (time, id): Ready,
        (entry, work): (&Entry, &Work),
    ) {
        match *work {
            Work::Kernel { .. } if !PLAIN && !program.places.is_empty() => {
                self.pass_channel(program, (time, id));
            }
            Work::Kernel { gap, .. } => self.launch::<PLAIN>(program, (time, id), gap),
            _ if time > self.now => self.queue.schedule(time, Event::Joins(id)),
            _ => self.join::<PLAIN>(program, (id, entry), work),
        }
    }

    /// Launches the kernels that their channel lets pass now.
    #[cold]
    fn pass_channel(&mut self, program: &CompiledProgram<'_>, kernel: Ready) {
        self.channels.pass(program, kernel, &mut self.launched);
        for index in 0..self.launched.len() {
            let (time, id) = self.launched[index];
            if let Work::Kernel { gap, .. } = self.streams.class_of::<false>(program, id).work {
                self.launch::<false>(program, (time, id), gap);
            }
        }
        self.launched.clear();
    }

    /// Launches a kernel. Its gap has no effect on anything but copies that take longer beside
    /// kernels.
    #[inline(always)]
    fn launch<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        (time, id): Ready,
        gap: Span,
    ) {
        let start = time.max(self.now);
        if !PLAIN && program.kernels_delay_copies {
            self.queue.schedule(start, Event::Begins(id));
        }
        self.queue.schedule(start + gap, Event::Dispatches(id));
    }

    #[inline(always)]
    fn join<const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
        work: &Work,
    ) {
        let (engine, alone) = match *work {
            Work::Copy { direction, alone, .. } => (direction as usize, alone),
            Work::PeerCopy { alone, .. } => (PEER_ENGINE, alone),
            _ => return self.go_without_engine(program, (id, entry), work),
        };
        let stream = entry.stream;
        let copy = Asked { entry: id, stream, alone };
        let device = if PLAIN { 0 } else { program.device_of(stream) };
        self.copies.enqueue((device, engine), copy);
    }

    /// Runs an operation that occupies no engine, and releases the host when its part is done.
    #[cold]
    fn go_without_engine(
        &mut self,
        program: &CompiledProgram<'_>,
        (id, entry): (EntryId, &Entry),
        work: &Work,
    ) {
        let Work::Staged { direction, duration, early, .. } = *work else {
            return self.queue.schedule(self.now + work.by_itself(), Event::Ends(id));
        };
        let since = self.streams.staged_since(program, (id, entry), self.now);
        let end = self.now.max(since + duration);
        self.queue.schedule(end, Event::Ends(id));
        let device = program.device_of(entry.stream);
        self.copies.stage((device, direction), self.now, end);
        if entry.item == self.host.next {
            let cause = self.streams.cause(program, entry.stream);
            if cause.reason != Reason::Issue && cause.ready > self.host.reached {
                self.host.cause = Cause { reason: Reason::Device, ..cause };
            }
            self.return_at(self.now.max(since + duration.saturating_sub(early)));
        }
    }

    /// An operation has ended: its stream goes on, and perhaps the host.
    #[inline(always)]
    fn finish<O: Observer, const PLAIN: bool>(
        &mut self,
        program: &CompiledProgram<'_>,
        ended: Ended,
        observer: &mut O,
    ) {
        let entry = &program.entries.list[ended.entry as usize];
        if O::LISTENS {
            let cause = self.cause_of(program, &ended);
            observer.device(
                program,
                Done { item: entry.item, start: ended.started, end: self.now, cause },
            );
        }
        let kind = self.streams.end::<PLAIN>(program, entry, (ended.started, self.now));
        if !PLAIN && program.looks.is_some() {
            let in_graph = program.class_in(ended.entry).in_graph;
            self.looks.done((program.device_of(entry.stream), kind), in_graph, self.now);
        }
        if !PLAIN
            && program.kernels_delay_copies
            && matches!(program.class_in(ended.entry).work, Work::Kernel { .. })
        {
            self.copies.end_kernel(program.device_of(entry.stream));
        }
        self.advance::<O, PLAIN>(program, entry.stream);
        // Not only this stream may have drained: an event may have let another one drain.
        if std::mem::take(&mut self.streams.ran_dry)
            && let Blocked::Draining { stream, wake } = self.host.blocked
            && self.streams.is_drained(program, stream)
        {
            let still_awake = self.now <= self.host.reached;
            if !still_awake {
                self.host.cause =
                    Cause { reason: Reason::Device, before: entry.item, ready: self.now };
            }
            self.return_at(if still_awake { self.host.reached } else { self.now + wake });
        }
    }

    /// The last thing that kept an operation from starting earlier.
    fn cause_of(&self, program: &CompiledProgram<'_>, ended: &Ended) -> Cause {
        let &Ended { entry, started, before } = ended;
        let list = &program.entries.list;
        let cause = self.streams.cause(program, list[entry as usize].stream);
        let gap = match self.streams.class_of::<false>(program, entry).work {
            Work::Kernel { gap, .. } => gap,
            _ => Span::ZERO,
        };
        if started > cause.ready + gap && before != NONE {
            let before = list[before as usize].item;
            Cause { reason: Reason::Engine, before, ready: started }
        } else {
            cause
        }
    }
}
