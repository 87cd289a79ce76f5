//! What a program's set-up takes, and what it costs to have buffers in pinned memory, for which
//! there are two ways.

use super::caches::Locality;
use super::call_costs::CallCosts;
use super::halved::Prices;
use super::traffic::Traffic;
use crate::kernels::{Arguments, Kernel};
use crate::machine::HostMemory;
use crate::profile::{
    Estimate, GraphCall, HostLocality, Known, MOST_OPERANDS, MemoryWork, Profile, Reuse, Unknown,
};
use crate::program::{Allocation, AllocationId, Call, Place, Program, StreamKind};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Predicts the time of a program's set-up: the streams and events that it creates, the calls that
/// the host makes one after the other, and the graphs that it captures and instantiates.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(program: &Program, profile: &Profile) -> Known<Span> {
    let (traffic, prices) = (Traffic::of(program), Prices::usual(profile));
    let costs = CallCosts::new(program, &prices, &traffic);
    let calls = program.setup.iter().map(|call| {
        // The host may wait for what they do, or the body for their end.
        if call.route().is_some() || call.is_launch() {
            return Err(Unknown::refused("the time of copies and kernels in a plan's set-up"));
        }
        Ok(costs.cost(call, &Locality::default(), (None, None))?.host)
    });
    let graphs = program.graphs().map(|graph| {
        let cost = |call| profile.graph_call(call, graph.nodes);
        Ok(cost(GraphCall::Capture)? + cost(GraphCall::Instantiate)?)
    });
    // A buffer that a plan holds in write-combined memory lives there from the start.
    let combined = program
        .allocations
        .iter()
        .filter(|one| one.holds.is_some() && one.place == Place::Host(HostMemory::WriteCombined));
    let taken = combined.map(|one| {
        let time = profile.memory(MemoryWork::PinnedAllocate, one.bytes)?;
        Ok(Span::from_nanos_f64(time.max(0.0)))
    });
    calls.chain(graphs).chain(taken).chain(handles(program, profile)).sum()
}

/// The time of creating all streams, and that of creating all events.
fn handles(program: &Program, profile: &Profile) -> [Known<Span>; 2] {
    // The legacy default stream exists without being created.
    let created = program.streams.iter().filter(|one| one.kind != StreamKind::LegacyDefault);
    let all = |count: usize, of_one: Option<Estimate>, what: &str| match (count, of_one) {
        (0, _) => Ok(Span::ZERO),
        (_, None) => Err(Unknown::new(what)),
        (count, Some(of_one)) => Ok(of_one.span() * count as u64),
    };
    [
        all(created.count(), profile.setup.stream, "the time to create a stream"),
        all(program.events, profile.setup.event, "the time to create an event"),
    ]
}

/// The prices of pinning the host memory that a program's set-up pins. The program has the first
/// way; the second is for memory that cannot be registered, or comes anew each time. `None` is what
/// the profile does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pinning {
    /// Size of all buffers that the set-up pins.
    pub bytes: Bytes,
    /// Time to register them in place. Included in `setup_ns`.
    pub register_ns: Option<Span>,
    /// Time to unregister them after the last run. Included in neither `setup_ns` nor `program_ns`.
    #[serde(default)]
    pub unregister_ns: Option<Span>,
    /// Time to allocate the same amount of pinned memory instead.
    pub allocate_ns: Option<Span>,
    /// Time to copy all of them once into or out of that memory, on all CPU threads.
    pub copy_ns: Option<Span>,
}

impl Pinning {
    /// What it costs to have the memory pinned from the set-up to the end, as far as the profile
    /// knows: not all profiles have what unregistering takes.
    pub fn costs(&self) -> Option<Span> {
        Some(self.register_ns? + self.unregister_ns.unwrap_or_default())
    }
}

/// A program without the pinning of its set-up: the driver stages copies of that memory. `None` if
/// it pins nothing, or captures its calls in graphs, which takes pinned memory.
pub fn unpinned(program: &Program) -> Option<Program> {
    let mut other = program.clone();
    other.setup.retain(|call| call.pinned().is_none());
    for call in &program.setup {
        if let Some(AllocationId(id)) = call.pinned() {
            other.allocations[id].place = Place::Host(HostMemory::Pageable);
        }
    }
    (other.setup.len() < program.setup.len() && !program.has_graphs()).then_some(other)
}

/// Memory of its own that a program takes in the set-up so that data travels through it: pinned,
/// write-combined or managed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// Size of all such memory.
    pub bytes: Bytes,
    /// Time to allocate it. Included in `setup_ns`.
    pub costs_ns: Option<Span>,
    /// Time to free it after the last run. Included in neither `setup_ns` nor `program_ns`.
    #[serde(default)]
    pub gives_back_ns: Option<Span>,
}

/// Prices what a program takes like that; nothing if it takes none.
pub fn taken(program: &Program, profile: &Profile) -> Option<Taken> {
    let is_taken = |(id, one): &(usize, &Allocation)| {
        let is_own = || program.setup.contains(&Call::allocate(AllocationId(*id)));
        let is_combined = one.place == Place::Host(HostMemory::WriteCombined);
        ((one.place.is_managed() || one.place.is_pinned()) && is_own())
            || (one.holds.is_some() && is_combined)
    };
    let all: Vec<(Bytes, MemoryWork, Option<MemoryWork>)> = program
        .allocations
        .iter()
        .enumerate()
        .filter(is_taken)
        .map(|(_, one)| match one.place.is_managed() {
            true => (one.bytes, MemoryWork::ManagedAllocate, None),
            false => (one.bytes, MemoryWork::PinnedAllocate, Some(MemoryWork::PinnedFree)),
        })
        .collect();
    if all.is_empty() {
        return None;
    }
    let price = |cost: Option<MemoryWork>, bytes| profile.memory(cost?, bytes).ok();
    let sum = |prices: Option<f64>| prices.map(|sum| Span::from_nanos_f64(sum.max(0.0)));
    let costs = all.iter().map(|&(bytes, cost, _)| price(Some(cost), bytes)).sum();
    let gives_back = all.iter().map(|&(bytes, _, free)| price(free, bytes)).sum();
    let bytes = all.iter().map(|(bytes, ..)| *bytes).sum();
    Some(Taken { bytes, costs_ns: sum(costs), gives_back_ns: sum(gives_back) })
}

/// Prices what a program pins; nothing if it pins nothing.
pub fn pinning(program: &Program, profile: &Profile) -> Option<Pinning> {
    let pinned = program.setup.iter().filter_map(Call::pinned);
    let sizes: Vec<Bytes> = pinned.map(|id| program.allocation(id).bytes).collect();
    if sizes.is_empty() {
        return None;
    }
    let bytes: Bytes = sizes.iter().copied().sum();
    let sum = |price: &dyn Fn(Bytes) -> Option<f64>| {
        let all = sizes.iter().map(|&bytes| price(bytes)).sum::<Option<f64>>()?;
        Some(Span::from_nanos_f64(all.max(0.0)))
    };
    let memory = |cost| sum(&|bytes| profile.memory(cost, bytes).ok());
    Some(Pinning {
        bytes,
        register_ns: memory(MemoryWork::Register),
        unregister_ns: memory(MemoryWork::Unregister),
        allocate_ns: memory(MemoryWork::PinnedAllocate),
        // A pass goes through all of it, and through as much pinned memory.
        copy_ns: sum(&|one| copy(profile, one, bytes + bytes)),
    })
}

/// Nanoseconds in which all threads copy so much: what reads one array and writes another.
fn copy(profile: &Profile, bytes: Bytes, footprint: Bytes) -> Option<f64> {
    let mut operands = [(Bytes::ZERO, Bytes::ZERO); MOST_OPERANDS];
    operands[..2].fill((bytes, footprint));
    let nothing = [Bytes::ZERO; 2];
    let around =
        HostLocality { reuse: Reuse(operands), footprint, handed: nothing, helped: nothing };
    profile.twin(Kernel::Scale, &Arguments::default(), bytes.as_f32_count(), around).ok()
}
