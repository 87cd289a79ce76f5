//! Checks that calls are ordered wherever they touch the same bytes.

use super::operands::Touched;
use super::order::{Clock, Order};
use super::threads::{Issue, Shared};
use super::value::Program;
use crate::units::Bytes;
use std::collections::BTreeMap;

/// An order that a program lacks. Calls are given by their positions in the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// Two calls touch the same bytes of an allocation, one of them writes, and nothing orders
    /// them.
    #[error("calls {first} and {second} both use `{allocation}` and nothing orders them")]
    Unordered { first: usize, second: usize, allocation: String },
    /// The body ends before the last call of a lane is known to be done.
    #[error("the body ends, and nothing has waited for call {last}, the last on stream {stream}")]
    Unfinished { last: usize, stream: usize },
    /// Two host threads use one stream or event, and nothing says which call comes first.
    #[error("two host threads make calls {first} and {second}, and nothing says which comes first")]
    Unissued { first: usize, second: usize, shared: Shared },
}

struct Access {
    touched: Touched,
    writes: bool,
    call: usize,
    lane: usize,
    /// Number of this operation on its lane, from 1.
    number: usize,
}

/// The accesses to one allocation so far.
#[derive(Default)]
struct Accesses {
    /// Sorted by where they begin, then by when they were issued.
    by_offset: BTreeMap<(Bytes, usize), Access>,
    count: usize,
    longest: Bytes,
}

impl Accesses {
    /// The accesses that overlap with some bytes.
    fn overlapping(&self, touched: Touched) -> impl Iterator<Item = (&(Bytes, usize), &Access)> {
        let slice = touched.slice;
        let first = Bytes::new(slice.offset.get().saturating_sub(self.longest.get()));
        let near = self.by_offset.range((first, 0)..(slice.end(), 0));
        near.filter(move |(_, old)| old.touched.overlaps(&touched))
    }

    fn add(&mut self, access: Access) {
        let slice = access.touched.slice;
        self.longest = self.longest.max(slice.length);
        self.count += 1;
        self.by_offset.insert((slice.offset, self.count), access);
    }
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
    let mut accesses: Vec<Accesses> =
        program.allocations.iter().map(|_| Accesses::default()).collect();
    let mut issue = Issue::of(program);
    for index in 0.. {
        if let Some((first, shared)) = issue.as_mut().and_then(|one| one.pass(index, &order)) {
            return Err(Hazard::Unissued { first, second: index, shared });
        }
        let Some((call, passed)) = order.pass() else { break };
        let Some(number) = passed.number else { continue };
        for (touched, writes) in program.accesses(call) {
            let access = Access { touched, writes, call: index, lane: passed.lane, number };
            note(program, passed.known, &mut accesses[touched.slice.allocation.0], access)?;
        }
    }
    check_finished(program, &order)
}

fn note(
    program: &Program,
    clock: &Clock,
    earlier: &mut Accesses,
    access: Access,
) -> Result<(), Hazard> {
    let is_unordered = |old: &&Access| {
        let ordered = old.call == access.call || clock[old.lane] >= old.number;
        (old.writes || access.writes) && !ordered
    };
    let unordered = earlier.overlapping(access.touched).map(|(_, old)| old).filter(is_unordered);
    if let Some(first) = unordered.map(|old| old.call).min() {
        let (second, allocation) = (access.call, access.touched.slice.allocation);
        let allocation = program.allocation(allocation).name.clone();
        return Err(Hazard::Unordered { first, second, allocation });
    }
    // A write that covers an older access stands for it from now on: whatever
    // is ordered after the write is ordered after the older access too.
    if access.writes {
        let covered = |old: &Access| access.touched.covers(&old.touched);
        let old = earlier.overlapping(access.touched).filter(|(_, old)| covered(old));
        let old: Vec<(Bytes, usize)> = old.map(|(&key, _)| key).collect();
        for key in old {
            earlier.by_offset.remove(&key);
        }
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
