//! What a process pays before its first pass: the program's set-up, and the first use of the
//! GPU and of memory, which a program has no call for.

use super::analysis::Locality;
use super::call_costs::CallCosts;
use crate::machine::{Direction, HostMemory};
use crate::profile::{Estimate, GraphCall, MemoryCost, Profile, Unknown};
use crate::program::{Call, Place, Program};
use crate::units::{Bytes, Span};

/// Predicts the time of a program's set-up: the calls that the host makes one after the other,
/// and the graphs that it captures and instantiates.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(program: &Program, profile: &Profile) -> Result<Span, Unknown> {
    let costs = CallCosts::new(program, profile);
    let calls = program.setup.iter().map(|call| match call {
        // The host may wait for what they do, or the body for their end.
        Call::Copy { .. } | Call::PeerCopy { .. } | Call::Launch { .. } => {
            Err(Unknown::refused("the time of copies and kernels in a plan's set-up"))
        }
        _ => Ok(costs.cost(call, &Locality::default(), (None, None))?.host),
    });
    let graphs = program.graphs().map(|graph| {
        let cost = |call| profile.graph_call(call, graph.nodes);
        Ok(cost(GraphCall::Capture)? + cost(GraphCall::Instantiate)?)
    });
    calls.chain(graphs).sum()
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
///   has written to its pages before. (Of a `fresh` buffer, each pass pays for that. Memory of
///   the program's own is touched in the set-up.)
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
        (program.needs_device(), profile.setup.context, "what it takes to create a context"),
        (launches, profile.setup.module, "what it takes to load the kernels' module"),
    ];
    let costs = costs.into_iter().filter(|(is_needed, ..)| *is_needed);
    let cost = |(_, cost, what): (bool, Option<Estimate>, &str)| {
        let cost = cost.ok_or_else(|| Unknown::new(what))?;
        Ok(cost.span() * program.devices() as u64)
    };
    costs.map(cost).collect()
}

fn of_memory(program: &Program, profile: &Profile) -> Vec<Result<Span, Unknown>> {
    let touched = first_touches(program).into_iter();
    let cost = |(bytes, cost)| Ok(Span::from_nanos_f64(profile.memory(cost, bytes)?.max(0.0)));
    touched.map(cost).collect()
}

/// The buffers in host memory that the body writes before anybody has, and who does: all threads
/// in a kernel on the CPU, one in a copy (the driver's own, or for memory that is registered the
/// one that registers it).
fn first_touches(program: &Program) -> Vec<(Bytes, MemoryCost)> {
    // Nothing: untouched so far.
    let mut first: Vec<Option<Option<MemoryCost>>> = vec![None; program.allocations.len()];
    let mut touch = |allocation: usize, cost| {
        first[allocation].get_or_insert(cost);
    };
    for call in &program.body {
        match call {
            Call::Renew(id) => touch(id.0, None),
            Call::Compute { step } => {
                step.inputs.iter().for_each(|input| touch(input.allocation.0, None));
                touch(step.output.allocation.0, Some(MemoryCost::FirstTouchTeam));
            }
            Call::Copy { direction, from, to, .. } => {
                let is_written = *direction == Direction::DeviceToHost;
                let cost = is_written.then_some(MemoryCost::FirstTouch);
                touch(direction.ashore(from, to).allocation.0, cost);
            }
            _ => {}
        }
    }
    let is_registered =
        |id| program.setup.iter().any(|call| matches!(call, Call::Pin(at) if at.0 == id));
    let allocations = program.allocations.iter().enumerate();
    let costs = allocations.filter_map(|(id, allocation)| {
        let cost = first[id]??;
        let is_new = match allocation.place {
            Place::Host(HostMemory::Pageable) => true,
            // What the scenario has pinned was touched by whoever pinned it.
            Place::Host(HostMemory::Pinned) => is_registered(id),
            Place::Device(_) => false,
        };
        (is_new && allocation.holds.is_some()).then_some((allocation.bytes, cost))
    });
    costs.collect()
}
