//! From a program as it is spelled out to its calls, one by one.

use super::call::{KernelCall, RawCall, Verb, needed};
use super::own::DeclaredKernel;
use super::raw::RawProgram;
use super::scope::{NamedBuffer, Scope};
use super::threads::HostThreads;
use crate::files::{Fault, Spanned};
use crate::kernels::{Kernel, OwnKernel};
use crate::machine::{DeviceId, StreamId};
use crate::program::{
    AllocationId, Call, Hazard, Part, Place, Program, Shared, Slice, ThreadId, check_hazards,
};
use crate::units::{Bytes, Instant, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The most rounds of one `repeat`.
const MOST_ROUNDS: i64 = 1_000_000;

/// The program that a table spells out over some buffers, with some kernels of its own.
///
/// # Errors
/// The first mistake: a name that stands for nothing, a range outside, calls that contradict each
/// other, calls that use the same bytes with nothing that orders them.
pub fn expand(
    raw: &RawProgram,
    buffers: &[NamedBuffer],
    declared: &[Arc<DeclaredKernel>],
) -> Result<Program, Fault> {
    let mut expansion = Expansion {
        scope: Scope::new(raw, buffers)?,
        declared,
        kernels: Vec::new(),
        workspaces: BTreeMap::new(),
        threads: HostThreads::default(),
        calls: Vec::new(),
        made_by: Vec::new(),
        in_setup: true,
        in_graph: false,
        overhead: raw.overhead.as_ref().map(span_of).transpose()?,
        pinned: BTreeSet::new(),
        worked: Span::ZERO,
    };
    let whole = raw.name.span();
    for call in &raw.setup {
        expansion.add(call, &whole)?;
    }
    let setup = std::mem::take(&mut expansion.calls);
    expansion.made_by.clear();
    expansion.in_setup = false;
    for call in &raw.calls {
        expansion.add(call, &whole)?;
    }
    for thread in expansion.threads.all() {
        expansion.threads.making = thread;
        expansion.make_current(DeviceId::FIRST, &whole);
    }
    expansion.finish(raw, setup)
}

/// A call with the place in the file of what made it.
type Placed = (Call, Range<usize>);

pub(super) struct Expansion<'k> {
    pub(super) scope: Scope,
    /// The scenario's kernels, and those of them that calls have named so far.
    pub declared: &'k [Arc<DeclaredKernel>],
    pub kernels: Vec<OwnKernel>,
    /// For each stream, kernel and number of bytes, memory in which launches combine their blocks.
    /// Kernels of one stream run one after the other; but each leaves in its workspace what only
    /// itself can begin with.
    pub workspaces: BTreeMap<(StreamId, Kernel, u64), AllocationId>,
    threads: HostThreads,
    calls: Vec<Placed>,
    /// The thread that makes each of the calls.
    made_by: Vec<ThreadId>,
    pub(super) in_setup: bool,
    in_graph: bool,
    /// What a framework adds to each call.
    overhead: Option<Span>,
    /// Memory that calls pin where it is.
    pub pinned: BTreeSet<AllocationId>,
    /// The stated time of all calls so far.
    worked: Span,
}

impl Expansion<'_> {
    fn add(&mut self, raw: &RawCall, within: &Range<usize>) -> Result<(), Fault> {
        let outer = self.threads.making;
        if let Some(name) = &raw.thread {
            self.threads.making = self.threads.thread(name, &self.scope.indices, self.in_setup)?;
        }
        let added = self.add_call(raw, within);
        self.threads.making = outer;
        added
    }

    fn add_call(&mut self, raw: &RawCall, within: &Range<usize>) -> Result<(), Fault> {
        let (verb, span) = raw.verb(within)?;
        let stream = raw.stream.as_ref();
        match verb {
            Verb::Copy(from) => return self.copy(from, raw, &span),
            Verb::Launch(kernel) => {
                return self.launch(&KernelCall { kernel, keys: raw }, &span);
            }
            Verb::Compute(kernel) => {
                return self.compute(&KernelCall { kernel, keys: raw }, &span);
            }
            Verb::Work(time) => {
                let time = span_of(time)?;
                self.push(Call::Work { time }, &span)?;
            }
            Verb::Clear(target) => {
                let target = self.scope.slice(target)?;
                let stream = self.stream(stream, &target)?;
                self.push(Call::Clear { stream, target }, &span)?;
            }
            Verb::Record(event) => {
                let stream = self.stream_or_default(stream)?;
                let event = self.scope.event(event)?;
                self.push(Call::Record { stream, event }, &span)?;
            }
            Verb::Wait(event) => {
                let stream = self.stream_or_default(stream)?;
                let event = self.scope.known_event(event)?;
                self.push(Call::Wait { stream, event }, &span)?;
            }
            Verb::Synchronize(stream) => {
                let stream = self.scope.known_stream(stream)?;
                self.push(Call::Synchronize { stream }, &span)?;
            }
            Verb::SynchronizeEvent(event) => {
                let event = self.scope.known_event(event)?;
                self.push(Call::SynchronizeEvent { event }, &span)?;
            }
            Verb::SynchronizeDevice(gpu) => {
                let device = self.scope.known_device(gpu)?;
                self.make_current(device, &span);
                self.push(Call::SynchronizeDevice(device), &span)?;
            }
            Verb::SynchronizeThread(name) => {
                let thread = self.threads.awaited(name, &self.scope.indices)?;
                self.push(Call::SynchronizeThread(thread), &span)?;
            }
            Verb::Allocate(memory) => {
                let (allocation, stream) = self.in_stream(memory, stream)?;
                self.push(Call::Allocate { allocation, stream }, &span)?;
            }
            Verb::Free(memory) => {
                let (allocation, stream) = self.in_stream(memory, stream)?;
                self.push(Call::Free { allocation, stream }, &span)?;
            }
            Verb::Pin(memory) => return self.pin(memory, &span),
            Verb::Unpin(memory) => {
                let id = self.scope.whole(memory)?;
                self.push(Call::Unpin(id), &span)?;
            }
            Verb::Renew(memory) => return self.renew(memory, &span),
            Verb::Prefetch(target) => return self.prefetch(target, raw, &span),
            Verb::Repeat(times) => return self.repeat(times, raw, &span),
            Verb::Graph(calls) => return self.graph(calls, stream, &span),
        }
        Ok(())
    }

    pub(super) fn push(&mut self, call: Call, span: &Range<usize>) -> Result<(), Fault> {
        if let Some(stream) = call.stream() {
            self.make_current(self.scope.streams[stream.0].device, span);
        }
        // A framework does its part before each call that it makes; it makes those of a graph once.
        if let Some(time) = self.overhead
            && !self.in_setup
            && !self.in_graph
            && !call.is_host_work()
            && !matches!(call, Call::SynchronizeThread(_))
        {
            self.note(Call::Work { time }, span);
        }
        self.put(call, span)
    }

    /// Adds a call as it is.
    pub(super) fn put(&mut self, call: Call, span: &Range<usize>) -> Result<(), Fault> {
        self.note(call, span);
        if self.calls.len() > Program::MOST_CALLS {
            let message = format!("the program has more than {} calls", Program::MOST_CALLS);
            let help = "repeat fewer times: beyond a few hundred, more of the same calls do not \
                        change the answer";
            return Err(Fault::new(message, span.clone(), "over the limit", help));
        }
        let longest = Instant::HORIZON.since_start();
        if self.worked > longest {
            let longest = longest.in_years();
            let message = format!("the stated times of the program add up to more than {longest}");
            let help = "state shorter times, or repeat fewer times";
            return Err(Fault::new(message, span.clone(), "takes too long", help));
        }
        Ok(())
    }

    fn note(&mut self, call: Call, span: &Range<usize>) {
        if let Call::Work { time } = call {
            self.worked += time;
        }
        self.calls.push((call, span.clone()));
        self.made_by.push(self.threads.making);
    }

    /// Makes the context of a GPU current, as `cudaSetDevice` does.
    fn make_current(&mut self, device: DeviceId, span: &Range<usize>) {
        // The executor makes each call of the set-up in the context of its stream.
        if !self.in_setup && *self.threads.current() != device {
            self.note(Call::Use(device), span);
            *self.threads.current() = device;
        }
    }

    /// The stream of a call on device memory.
    pub(super) fn stream(
        &mut self,
        name: Option<&Spanned<String>>,
        memory: &Slice,
    ) -> Result<StreamId, Fault> {
        match name {
            Some(name) => self.scope.stream(name),
            None => Ok(self.scope.default_stream(match self.place(memory) {
                Place::Device(device) => device,
                Place::Host(_) => DeviceId::FIRST,
            })),
        }
    }

    pub fn stream_or_default(&mut self, name: Option<&Spanned<String>>) -> Result<StreamId, Fault> {
        match name {
            Some(name) => self.scope.stream(name),
            None => {
                let device = *self.threads.current();
                Ok(self.scope.default_stream(device))
            }
        }
    }

    pub(super) fn place(&self, slice: &Slice) -> Place {
        self.scope.allocations[slice.allocation.0].place
    }

    fn repeat(
        &mut self,
        times: &Spanned<i64>,
        call: &RawCall,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let (index, calls) = (&call.index, needed(&call.calls).get_ref());
        let rounds = *times.get_ref();
        if !(1..=MOST_ROUNDS).contains(&rounds) {
            let message = format!("`repeat` is {rounds}");
            let help = format!("write a whole number from 1 to {MOST_ROUNDS}");
            return Err(Fault::new(message, times.span(), "out of range", help));
        }
        if let Some(index) = index
            && self.scope.indices.iter().any(|(known, _)| known == index.get_ref())
        {
            let message = format!("`{index}` is already the index of an enclosing `repeat`");
            return Err(Fault::new(message, index.span(), "taken", "choose another name"));
        }
        for round in 0..rounds {
            if let Some(index) = index {
                self.scope.indices.push((index.get_ref().clone(), round));
            }
            let before = self.calls.len();
            for call in calls {
                self.add(call, span)?;
            }
            let does_nothing = self.calls.len() == before;
            if index.is_some() {
                self.scope.indices.pop();
            }
            // Nor would another round.
            if does_nothing {
                break;
            }
        }
        Ok(())
    }

    fn graph(
        &mut self,
        calls: &Spanned<Vec<RawCall>>,
        name: Option<&Spanned<String>>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let Some(name) = name else {
            let message = "a graph cannot be captured in the legacy default stream".to_owned();
            let help = "add `stream = \"s\"`, the stream in which capture begins";
            return Err(Fault::new(message, span.clone(), "cannot be captured", help));
        };
        let stream = self.scope.stream(name)?;
        self.push(Call::Replay { stream, calls: 0 }, span)?;
        let launch = self.calls.len();
        self.in_graph = true;
        for call in calls.get_ref() {
            self.add(call, span)?;
        }
        self.in_graph = false;
        let captured = self.calls.len() - launch;
        if let (Call::Replay { calls, .. }, _) = &mut self.calls[launch - 1] {
            *calls = captured;
        }
        Ok(())
    }

    /// Puts the program together and checks it.
    fn finish(self, raw: &RawProgram, mut setup: Vec<Placed>) -> Result<Program, Fault> {
        let body = self.calls;
        let takes = |call: &Call, wanted: AllocationId| match call {
            Call::Allocate { allocation, .. } => *allocation == wanted,
            _ => false,
        };
        let allocated =
            |id: AllocationId| setup.iter().chain(&body).any(|(call, _)| takes(call, id));
        let whole = raw.name.span();
        let allocations = self.scope.allocations.iter().enumerate();
        let own = allocations.filter(|(_, one)| one.holds.is_none());
        let own = own.map(|(at, _)| AllocationId(at)).filter(|&id| !allocated(id));
        // A reduction needs its workspace cleared, and leaves it so for the next launch.
        let clear = |(&(stream, _, bytes), &allocation): (&(StreamId, Kernel, u64), _)| {
            let (offset, length) = (Bytes::ZERO, Bytes::new(bytes));
            Call::Clear { stream, target: Slice { allocation, offset, length } }
        };
        let own = own.map(Call::allocate).chain(self.workspaces.iter().map(clear));
        let own: Vec<Placed> = own.map(|call| (call, whole.clone())).collect();
        setup.splice(0..0, own);
        let (setup, setup_places): (Vec<_>, Vec<_>) = setup.into_iter().unzip();
        let (body, body_places): (Vec<_>, Vec<_>) = body.into_iter().unzip();
        let events = self.scope.events();
        let stream_names = self.scope.stream_names();
        let is_main = |thread: &ThreadId| *thread == ThreadId::MAIN;
        let threads = if self.made_by.iter().all(is_main) { Vec::new() } else { self.made_by };
        let program = Program {
            label: raw.name.get_ref().clone(),
            allocations: self.scope.allocations,
            streams: self.scope.streams,
            stream_names,
            events,
            kernels: self.kernels,
            setup,
            body,
            threads,
        };
        program.check().map_err(|problem| {
            let place = |(part, at): (Part, usize)| match part {
                Part::Setup => setup_places.get(at).cloned(),
                Part::Body => body_places.get(at).cloned(),
            };
            let here = problem.call.and_then(place).unwrap_or(whole.clone());
            let help = "correct the call, or the memory and streams that it uses";
            let fault = Fault::new(problem.what, here, "here", help);
            match problem.other.and_then(|(at, label)| Some((place(at)?, label))) {
                Some((there, label)) => fault.and(there, label),
                None => fault,
            }
        })?;
        check_hazards(&program).map_err(|hazard| {
            fault_of(hazard, &|at| body_places.get(at).cloned().unwrap_or(whole.clone()))
        })?;
        Ok(program)
    }
}

/// What a program lacks, at the places of its calls.
fn fault_of(hazard: Hazard, place: &dyn Fn(usize) -> Range<usize>) -> Fault {
    match hazard {
        Hazard::Unordered { first, second, allocation } => {
            let message = format!(
                "two calls use `{allocation}` and one of them writes it, but nothing orders them"
            );
            let help = "put them into the same stream, or have the second wait for an event \
                        recorded after the first";
            Fault::new(message, place(second), "the second", help).and(place(first), "the first")
        }
        Hazard::Unissued { first, second, shared } => {
            let what = match shared {
                Shared::Stream(_) => "stream",
                Shared::Event(_) => "event",
            };
            let message = format!("two host threads use the same {what} in undefined order");
            let help = "have the second call's thread wait with `synchronize_thread` after the \
                        first call";
            Fault::new(message, place(second), "the second", help).and(place(first), "the first")
        }
        Hazard::Unfinished { last, .. } => {
            let message = "a run may end before this call is done";
            let help = "end `calls` with a `synchronize` of its stream, or a \
                        `synchronize_device`";
            Fault::new(message, place(last), "nothing waits for it", help)
        }
    }
}

/// A time as it is written.
fn span_of(text: &Spanned<String>) -> Result<Span, Fault> {
    text.get_ref().parse::<Span>().map_err(|error| {
        let help = "write a time such as `\"3.5 ms\"`";
        Fault::new(error.to_string(), text.span(), "not a time", help)
    })
}
