//! Checks that calls are ordered wherever they touch the same bytes.

use super::latest_accesses::{LatestAccesses, OrderedAccess};
use super::order::{Clock, Order};
use super::threads::{Issue, Shared};
use super::value::Program;

/// An order that a program lacks. Calls are given by their positions in the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// Two calls touch the same bytes of an allocation, one of them writes, and nothing orders
    /// them.
    #[error("calls {first} and {second} both use `{allocation}`, but nothing orders them")]
    Unordered { first: usize, second: usize, allocation: String },
    /// The body ends before the last call of a lane is known to be done.
    #[error("the body ends without waiting for call {last}, the last one on stream {stream}")]
    Unfinished { last: usize, stream: usize },
    /// Two host threads use one stream or event, and nothing says which call comes first.
    #[error("two host threads make calls {first} and {second} in undefined order")]
    Unissued { first: usize, second: usize, shared: Shared },
}

/// Checks that any two calls of the body that touch overlapping bytes, one of
/// them writing, are ordered by a stream, an event or a synchronisation, and
/// that the host waits for everything before the body ends. Of host threads that use one stream or
/// one event, it must be known which comes first.
///
/// Copies from pageable memory count as asynchronous, as the CUDA driver API's
/// "API synchronization behavior" leaves open when they return.
///
/// # Errors
/// The first pair that is not ordered.
pub fn check_hazards(program: &Program) -> Result<(), Hazard> {
    let mut order = Order::new(program);
    let mut accesses: Vec<LatestAccesses> =
        program.allocations.iter().map(|_| LatestAccesses::default()).collect();
    let mut issue = Issue::of(program);
    for index in 0.. {
        if let Some((first, shared)) = issue.as_mut().and_then(|one| one.pass(index, &order)) {
            return Err(Hazard::Unissued { first, second: index, shared });
        }
        let Some((call, passed)) = order.pass() else { break };
        let Some(number) = passed.number else { continue };
        for one in program.accesses(call) {
            let (touched, writes) = (one.touched, one.writes());
            let access = OrderedAccess { touched, writes, call: index, lane: passed.lane, number };
            note(program, passed.known, &mut accesses[one.allocation().0], access)?;
        }
    }
    check_finished(program, &order)
}

fn note(
    program: &Program,
    clock: &Clock,
    earlier: &mut LatestAccesses,
    access: OrderedAccess,
) -> Result<(), Hazard> {
    let is_ordered = |old: &OrderedAccess| old.call == access.call || clock[old.lane] >= old.number;
    let unordered = earlier.before(&access).filter(|old| !is_ordered(old));
    if let Some(first) = unordered.map(|old| old.call).min() {
        let (second, allocation) = (access.call, access.touched.slice.allocation);
        let allocation = program.allocation(allocation).name.clone();
        return Err(Hazard::Unordered { first, second, allocation });
    }
    earlier.add(access);
    Ok(())
}

/// Checks that the host has waited for every lane's last operation when the body ends.
fn check_finished(program: &Program, order: &Order<'_>) -> Result<(), Hazard> {
    let Some(lane) = order.unfinished().next() else { return Ok(()) };
    let last = program.lanes().iter().rposition(|&other| other == Some(lane));
    let (last, stream) = (last.unwrap_or(0), lane % program.streams.len());
    Err(Hazard::Unfinished { last, stream })
}
