//! What each call of a program costs on a machine. Costs are looked up in the profile once for each
//! kind and size of call, before simulated time starts.

mod copies;
mod graphs;
mod kernels;
mod memory;

use super::caches::{Locality, NewPages};
use super::halved::{Bottleneck, Halved, Prices, StatedTimes};
use super::remote::Mapped;
use super::traffic::Traffic;
use super::work::{CallCost, Waits, Work};
use crate::kernels::Variant;
use crate::machine::{DeviceId, Direction, Residence};
use crate::profile::{
    DeviceLocality, KernelPrices, KernelTime, Known, OperationKind, Profile, TimedCall, Unknown,
};
use crate::program::{
    AllocationId, Before, Call, CopyBy, Graph, LibraryStep, Place, Program, Route, Rows, Slice,
    Step, ThreadId, Threads,
};
use crate::units::{Bytes, Span};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::slice::from_ref;

/// What the cost of a call depends on, besides where its data is and what it follows in a graph:
/// calls with equal keys cost the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    SynchronizeDevice(DeviceId),
    SynchronizeThread(ThreadId),
    /// The direction, the device, the host's side, and the bytes.
    Copy(Direction, DeviceId, HostSide, Bytes),
    PeerCopy([DeviceId; 2], Bytes),
    Prefetch(Residence, Bytes),
    DeviceCopy(Bytes),
    /// The direction, the host's side, how many rows and how long each is.
    RowCopy(Option<Direction>, Option<HostSide>, u64, Bytes),
    /// The threads, both places, and the bytes.
    HostCopy(Threads, [Place; 2], Bytes),
    Work(Span),
    /// Whether a device runs it, the kernel, its elements, and what it uses across the link or, on
    /// the CPU, of write-combined memory.
    Kernel(bool, Code, u64, Mapped),
    /// What makes the call, and the memory that it is about as a whole.
    Named(&'static str, Option<AllocationId>),
    /// The place in the body of the graph's launch, since each graph has nodes of its own.
    Replay(usize),
}

/// What matters of the memory on the host's side of a copy: where it is, and whether a copy to the
/// device reads it and one to the host writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostSide {
    place: Place,
    copied: [bool; 2],
}

impl HostSide {
    fn of(program: &Program, traffic: &Traffic, AllocationId(id): AllocationId) -> Self {
        let [inward, outward] = &traffic.copied;
        let copied = [inward[id], outward[id]];
        Self { place: program.allocations[id].place, copied }
    }
}

/// A kernel: of the library, or else its place in the program and its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    Library(Variant),
    Own(usize, String),
}

impl Code {
    fn of(step: &Step) -> Self {
        match step {
            Step::Library(one) => Self::Library(one.variant()),
            Step::Own(one) => Self::Own(one.kernel, one.signature()),
        }
    }
}

impl Key {
    /// The key of a call. `graph` is the graph that it launches or belongs to, if there is one.
    pub fn of(
        (program, traffic): (&Program, &Traffic),
        call: &Call,
        graph: Option<&Graph>,
    ) -> Self {
        match call {
            Call::SynchronizeDevice(device) => Self::SynchronizeDevice(*device),
            Call::SynchronizeThread(other) => Self::SynchronizeThread(*other),
            Call::Replay { .. } => Self::Replay(graph.map_or(0, |graph| graph.launch)),
            Call::Copy { by, from, to, rows } => {
                Self::of_copy((program, traffic), *by, [from, to], *rows)
            }
            Call::Work { time } => Self::Work(*time),
            Call::Launch { step, .. } => {
                Self::Kernel(true, Code::of(step), step.elements(), Mapped::of(program, step))
            }
            Call::Compute { step } => {
                let combined = Mapped::combined(program, step.reads(), step.writes());
                Self::Kernel(false, Code::of(step), step.elements(), combined)
            }
            Call::Prefetch { target, to, .. } => Self::Prefetch(*to, target.length),
            _ => Self::Named(call.name(), call.allocation()),
        }
    }

    fn of_copy(
        (program, traffic): (&Program, &Traffic),
        by: CopyBy,
        sides: [&Slice; 2],
        rows: Option<Rows>,
    ) -> Self {
        let [from, to] = sides;
        let host_side = |ashore: &Slice| HostSide::of(program, traffic, ashore.allocation);
        match (by, rows) {
            (CopyBy::Stream(stream, Route::Crossing(way)), None) => {
                let (ashore, device) = (way.ashore(from, to), program.device_of(stream));
                Self::Copy(way, device, host_side(ashore), ashore.length)
            }
            (CopyBy::Stream(_, Route::ToPeer), _) => {
                Self::PeerCopy(program.peers_of(from, to), from.length)
            }
            (CopyBy::Stream(_, Route::OnDevice), None) => Self::DeviceCopy(from.length),
            (CopyBy::Stream(_, route), Some(rows)) => {
                let way = route.crossing();
                let ashore = way.map(|way| host_side(way.ashore(from, to)));
                Self::RowCopy(way, ashore, rows.count(from), rows.row)
            }
            (CopyBy::Host(threads), _) => {
                let places = sides.map(|side| program.allocation(side.allocation).place);
                Self::HostCopy(threads, places, from.length)
            }
        }
    }
}

/// Looks up the costs of one program's calls.
pub(super) struct CallCosts<'a> {
    program: &'a Program,
    profile: &'a Profile,
    traffic: &'a Traffic,
    halved: Halved,
    /// How many times as long as stated the program's own kernels take: see [`Prices`].
    stated: &'a StatedTimes,
    /// The library's kernels that calls so far have launched.
    kernels: RefCell<BTreeMap<Variant, KernelPrices<'a>>>,
}

impl<'a> CallCosts<'a> {
    pub fn new(program: &'a Program, prices: &'a Prices<'a>, traffic: &'a Traffic) -> Self {
        let Prices { profile, halved, stated } = prices;
        let kernels = RefCell::new(BTreeMap::new());
        Self { program, profile, traffic, halved: *halved, stated, kernels }
    }

    /// How long the kernel of a step takes on the device.
    fn kernel_time(&self, step: &LibraryStep, found: &DeviceLocality) -> Known<KernelTime> {
        let variant = step.variant();
        let mut kernels = self.kernels.borrow_mut();
        let prices = match kernels.entry(variant) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.profile.kernel_prices(variant)?),
        };
        prices.time(step.elements(), found)
    }

    /// The cost of a call. `graph` is the graph that it launches or belongs to; `before` is what
    /// it follows as a node of that graph.
    ///
    /// # Errors
    /// If the profile does not know it.
    pub fn cost(
        &self,
        call: &Call,
        locality: &Locality,
        (graph, before): (Option<&Graph>, Option<Before>),
    ) -> Known<CallCost> {
        let cost = match (graph, before) {
            (Some(_), Some(before)) => self.node(call, locality, before),
            (Some(graph), None) => self.graph(graph),
            (None, _) => self.call(call, locality),
        };
        Ok(self.halved.call(call, self.program.stages(call), cost?))
    }

    fn call(&self, call: &Call, locality: &Locality) -> Known<CallCost> {
        let Self { program, profile, .. } = *self;
        Ok(match call {
            Call::Replay { .. } => {
                return Err(Unknown::refused("a graph launch in a program's set-up"));
            }
            Call::Compute { step: Step::Library(step) } => self.compute(step, locality)?,
            Call::Compute { step: Step::Own(step) } => self.own_compute(step, locality)?,
            Call::Allocate { .. }
            | Call::Pin(_)
            | Call::Renew(_)
            | Call::Free { .. }
            | Call::Unpin(_) => self.of_memory(call)?,
            Call::Synchronize { .. } => self.waiting(Waits::Stream)?,
            Call::SynchronizeEvent { .. } => self.waiting(Waits::Event)?,
            Call::SynchronizeDevice(device) => self.waiting(Waits::Device(Some(*device)))?,
            Call::SynchronizeThread(other) => CallCost::until_thread(*other),
            Call::Record { .. } => self.mark(Work::Record, TimedCall::Record)?,
            Call::Wait { .. } => self.mark(Work::Wait, TimedCall::Wait)?,
            Call::Clear { .. } => CallCost {
                latency: profile.start(OperationKind::Kernel)?,
                work: self.clearing(profile.kernel_gap()?),
                ..CallCost::on_host(profile.call(TimedCall::Clear)?)
            },
            Call::Launch { step, .. } => self.launch(step, locality)?,
            Call::Copy { by, from, to, rows } => match (*by, *rows) {
                (CopyBy::Stream(stream, Route::Crossing(way)), None) => {
                    let device = program.device_of(stream);
                    self.copy((way, device), way.ashore(from, to), locality)?
                }
                (CopyBy::Stream(_, Route::ToPeer), _) => self.peer_copy([from, to])?,
                (CopyBy::Stream(_, Route::OnDevice), None) => self.device_copy(from.length)?,
                (CopyBy::Stream(stream, route), Some(rows)) => {
                    let way = (route, program.device_of(stream));
                    self.row_copy(way, [from, to], rows, locality)?
                }
                (CopyBy::Host(threads), _) => self.host_copy([from, to], threads, locality)?,
            },
            Call::Prefetch { target, to, .. } => self.prefetch(*to, target.length, locality)?,
            Call::Work { time } => CallCost::on_host(self.worked(*time)),
            Call::Use(_) => CallCost::on_host(profile.call(TimedCall::UseDevice)?),
        })
    }

    fn worked(&self, stated: Span) -> Span {
        match self.stated.work {
            1.0 => stated,
            times => Span::from_nanos_f64(stated.nanos_f64() * times),
        }
    }

    fn mark(&self, work: Work, call: TimedCall) -> Known<CallCost> {
        Ok(CallCost { work, ..CallCost::on_host(self.profile.call(call)?) })
    }

    fn compute(&self, step: &LibraryStep, locality: &Locality) -> Known<CallCost> {
        let Self { program, profile, .. } = *self;
        let what = || Unknown::refused("CPU kernels in a program's set-up");
        let around = locality.around.ok_or_else(what)?;
        let twin = profile.twin(step.kernel, &step.arguments, step.elements(), around)?;
        let combined = Mapped::combined(program, &step.inputs, from_ref(&step.output));
        let combined = self.combined(combined, step.is_shared(self.traffic.footprint.all))?;
        let time = self.halved.ns(Bottleneck::Cpu, twin.max(combined));
        let time = time + self.touch_time(locality)? + self.back(locality)?;
        let time = time.max(0.0);
        let bytes = step.slices().map(|slice| slice.length).sum();
        let streams = profile.streams(bytes, around.footprint, time);
        Ok(CallCost { streams, ..CallCost::on_host(Span::from_nanos_f64(time)) })
    }

    /// The cost of a call that only waits.
    fn waiting(&self, waits: Waits) -> Known<CallCost> {
        let host = self.profile.call(TimedCall::Synchronize);
        let (wake, host) = Unknown::both(self.profile.wake_host(), host)?;
        Ok(CallCost { waits, wake, ..CallCost::on_host(host) })
    }

    /// Nanoseconds for which a call waits for the new pages that it uses.
    fn touch_time(&self, locality: &Locality) -> Known<f64> {
        let price = |new: NewPages| self.profile.new_pages(new.cost, new.bytes);
        let time = locality.new_pages.map_or(Ok(0.0), price)?;
        Ok(self.halved.ns(Bottleneck::PageFaults, time))
    }
}
