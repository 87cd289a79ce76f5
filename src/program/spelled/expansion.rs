//! A program on the way from how it is spelled out to its calls.

use super::own::DeclaredKernel;
use super::scope::Scope;
use super::threads::HostThreads;
use crate::files::{Fault, Spanned};
use crate::kernels::{Kernel, OwnKernel};
use crate::machine::{DeviceId, StreamId};
use crate::program::{AllocationId, Call, Place, Program, Slice, ThreadId};
use crate::units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// A call with the place in the file of what made it.
pub(super) type Placed = (Call, Range<usize>);

#[derive(Default)]
pub(super) struct Expansion<'k> {
    pub scope: Scope,
    /// The scenario's kernels, and those of them that calls have named so far.
    pub declared: &'k [Arc<DeclaredKernel>],
    pub kernels: Vec<OwnKernel>,
    /// For each stream, kernel and number of bytes, memory in which launches combine their blocks.
    /// Kernels of one stream run one after the other; but each leaves in its workspace what only
    /// itself can begin with.
    pub workspaces: BTreeMap<(StreamId, Kernel, u64), AllocationId>,
    pub threads: HostThreads,
    /// The place of the table that is spelled out now.
    pub at: Range<usize>,
    pub calls: Vec<Placed>,
    /// The thread that makes each of the calls.
    pub made_by: Vec<ThreadId>,
    pub in_setup: bool,
    pub in_graph: bool,
    /// What a framework adds to each call.
    pub overhead: Option<Span>,
    /// Memory that calls pin where it is.
    pub pinned: BTreeSet<AllocationId>,
    /// The stated time of all calls so far.
    pub worked: Span,
}

impl Expansion<'_> {
    pub fn push(&mut self, call: Call) -> Result<(), Fault> {
        let of_stream = call.stream().map(|stream| self.scope.streams[stream.0].device);
        if let Some(device) = of_stream.or(call.device()) {
            self.make_current(device);
        }
        // A framework does its part before each call that it makes; it makes those of a graph once.
        if let Some(time) = self.overhead
            && !self.in_setup
            && !self.in_graph
            && !call.is_host_work()
            && !matches!(call, Call::SynchronizeThread(_))
        {
            self.note(Call::Work { time });
        }
        self.put(call)
    }

    /// Adds a call as it is.
    pub fn put(&mut self, call: Call) -> Result<(), Fault> {
        self.note(call);
        if self.calls.len() > Program::MOST_CALLS {
            let message = format!("the program has more than {} calls", Program::MOST_CALLS);
            let help = "repeat fewer times: beyond a few hundred, more repetitions do not change \
                        the answer";
            return Err(Fault::new(message, self.at.clone(), "over the limit", help));
        }
        let longest = Instant::HORIZON.since_start();
        if self.worked > longest {
            let longest = longest.in_years();
            let message = format!("the stated times of the program add up to more than {longest}");
            let help = "state shorter times, or repeat fewer times";
            return Err(Fault::new(message, self.at.clone(), "takes too long", help));
        }
        Ok(())
    }

    fn note(&mut self, call: Call) {
        self.worked += call.stated_time().unwrap_or_default();
        self.calls.push((call, self.at.clone()));
        self.made_by.push(self.threads.making);
    }

    /// Makes the context of a GPU current, as `cudaSetDevice` does.
    pub fn make_current(&mut self, device: DeviceId) {
        // The executor makes each call of the set-up in the context of its stream.
        if !self.in_setup && *self.threads.current() != device {
            self.note(Call::Use(device));
            *self.threads.current() = device;
        }
    }

    /// The stream of a name, or else the default stream of a GPU: of this one, or of the current.
    pub fn stream(
        &mut self,
        name: Option<&Spanned<String>>,
        device: Option<DeviceId>,
    ) -> Result<StreamId, Fault> {
        let current = *self.threads.current();
        match name {
            Some(name) => self.scope.stream(name),
            None => Ok(self.scope.default_stream(device.unwrap_or(current))),
        }
    }

    /// The GPU that memory is on.
    pub fn device_of(&self, slice: &Slice) -> Option<DeviceId> {
        match self.place(slice) {
            Place::Device(device) => Some(device),
            Place::Host(_) => None,
        }
    }

    pub fn place(&self, slice: &Slice) -> Place {
        self.scope.allocations[slice.allocation.0].place
    }
}

/// A time as it is written.
pub(super) fn span_of(text: &Spanned<String>) -> Result<Span, Fault> {
    text.get_ref().parse::<Span>().map_err(|error| {
        let help = "write a time such as `\"3.5 ms\"`";
        Fault::new(error.to_string(), text.span(), "not a time", help)
    })
}
