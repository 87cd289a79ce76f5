//! What a process pays before its first pass: the program's set-up, and the first use of the
//! GPU and of memory, which a program has no call for.

use super::call_costs::CallCosts;
use super::locality::Locality;
use super::pages::{NewPages, Pages};
use super::traffic::Traffic;
use crate::machine::HostMemory;
use crate::profile::{Estimate, GraphCall, MemoryCost, Profile, Unknown};
use crate::program::{AllocationId, Call, Place, Program};
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;

/// Predicts the time of a program's set-up: the calls that the host makes one after the other,
/// and the graphs that it captures and instantiates.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(program: &Program, profile: &Profile) -> Result<Span, Unknown> {
    let traffic = Traffic::of(program);
    let costs = CallCosts::new(program, profile, &traffic);
    let calls = program.setup.iter().map(|call| match call {
        // The host may wait for what they do, or the body for their end.
        Call::Copy { .. }
        | Call::PeerCopy { .. }
        | Call::DeviceCopy { .. }
        | Call::RowCopy { .. }
        | Call::Launch { .. }
        | Call::LaunchOwn { .. } => {
            Err(Unknown::refused("the time of copies and kernels in a plan's set-up"))
        }
        _ => Ok(costs.cost(call, &Locality::default(), (None, None))?.host),
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
        let time = profile.memory(MemoryCost::PinnedAllocate, one.bytes)?;
        Ok(Span::from_nanos_f64(time.max(0.0)))
    });
    calls.chain(graphs).chain(taken).sum()
}

/// What a process pays once, besides its set-up, because it does something for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirstUse {
    /// The sum of all that is known.
    pub known: Span,
    /// What the profile does not know; the sum is without it.
    pub missing: Option<Unknown>,
}

/// Predicts what a program's first pass, or what comes before it, takes longer in a new process:
///
/// - a context on each GPU, and the kernels' module in it, unless a buffer is at home on a GPU:
///   then the process has used it before;
/// - the first touch of a buffer in host memory that the body writes and has not read: nobody
///   has written to its pages before. (Of a buffer that the body renews first, each pass pays for
///   that. Memory of the program's own is touched in the set-up.)
///
/// The first copy and the first launch of a process take longer, too; no calibration has that.
pub fn first_use(program: &Program, profile: &Profile) -> FirstUse {
    let parts = of_devices(program, profile).into_iter().chain(of_memory(program, profile));
    parts.fold(FirstUse::default(), |mut sum, part| {
        match part {
            Ok(time) => sum.known += time,
            Err(unknown) => {
                sum.missing = Some(match sum.missing.take() {
                    Some(other) => other.and(unknown),
                    None => unknown,
                });
            }
        }
        sum
    })
}

fn of_devices(program: &Program, profile: &Profile) -> Vec<Result<Span, Unknown>> {
    let is_home = |place: Place| matches!(place, Place::Device(_));
    if program.allocations.iter().any(|one| one.holds.is_some() && is_home(one.place)) {
        return Vec::new();
    }
    let launches = program.body.iter().any(|call| matches!(call, Call::Launch { .. }));
    let costs = [
        (program.needs_device(), profile.setup.context, "the time to create a context"),
        (launches, profile.setup.module, "the time to load the kernels' module"),
    ];
    let costs = costs.into_iter().filter(|(is_needed, ..)| *is_needed);
    let cost = |(_, cost, what): (bool, Option<Estimate>, &str)| {
        let cost = cost.ok_or_else(|| Unknown::new(what))?;
        Ok(cost.span() * program.devices() as u64)
    };
    costs.map(cost).collect()
}

fn of_memory(program: &Program, profile: &Profile) -> Vec<Result<Span, Unknown>> {
    let touched = first_touches(program, profile.machine.page_bytes()).into_iter();
    let cost = |(bytes, cost)| Ok(Span::from_nanos_f64(profile.new_pages(cost, bytes)?.max(0.0)));
    touched.map(cost).collect()
}

/// How many bytes of buffers in host memory the body writes before anybody has, and who does: the
/// CPU's threads in a kernel, or the driver in a copy. For memory that is registered, it is the
/// thread that registers it.
fn first_touches(program: &Program, page: Bytes) -> Vec<(Bytes, MemoryCost)> {
    let mut pages = Pages::new(program, page);
    new_to_body(program).into_iter().for_each(|id| pages.renew(id));
    let mut touched: BTreeMap<(AllocationId, MemoryCost), Bytes> = BTreeMap::new();
    // Each pass pays for what it renews or takes.
    let is_new = |call: &&Call| matches!(call, Call::Renew(_) | Call::Allocate(_));
    for call in program.body.iter().filter(|call| !is_new(call)) {
        let Some(NewPages { allocation, cost, bytes }) = pages.pass(call) else { continue };
        let is_pinned = program.allocation(allocation).place == Place::Host(HostMemory::Pinned);
        let cost = match cost {
            MemoryCost::FirstCopy if is_pinned => MemoryCost::FirstTouch,
            other => other,
        };
        *touched.entry((allocation, cost)).or_default() += bytes;
    }
    touched.into_iter().map(|((_, cost), bytes)| (bytes, cost)).collect()
}

/// The buffers in host memory that nobody has used before the body writes to them.
fn new_to_body(program: &Program) -> Vec<AllocationId> {
    let mut registered = vec![false; program.allocations.len()];
    for call in &program.setup {
        if let Call::Pin(id) = call {
            registered[id.0] = true;
        }
    }
    // Whether the first call that uses each does nothing but write to it.
    let mut is_written: Vec<Option<bool>> = vec![None; program.allocations.len()];
    for call in &program.body {
        let mut only_writes: BTreeMap<AllocationId, bool> = BTreeMap::new();
        for (one, writes) in program.accesses(call) {
            *only_writes.entry(one.slice.allocation).or_insert(true) &= writes;
        }
        let renews = matches!(call, Call::Renew(_));
        for (id, only) in only_writes {
            is_written[id.0].get_or_insert(only && !renews);
        }
    }
    let is_new = |&id: &AllocationId| {
        let allocation = program.allocation(id);
        let may_be_new = match allocation.place {
            Place::Host(HostMemory::Pageable) => true,
            // What the scenario has pinned was touched by whoever pinned it.
            Place::Host(HostMemory::Pinned) => registered[id.0],
            Place::Host(_) | Place::Device(_) => false,
        };
        may_be_new && allocation.holds.is_some() && is_written[id.0] == Some(true)
    };
    (0..program.allocations.len()).map(AllocationId).filter(is_new).collect()
}
