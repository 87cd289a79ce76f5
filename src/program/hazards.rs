//! Checks that calls are ordered wherever they touch the same bytes.

use super::operands::{Slice, Touched};
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
    #[error("calls {first} and {second} both use `{allocation}`, but nothing orders them")]
    Unordered { first: usize, second: usize, allocation: String },
    /// The body ends before the last call of a lane is known to be done.
    #[error("the body ends without waiting for call {last}, the last one on stream {stream}")]
    Unfinished { last: usize, stream: usize },
    /// Two host threads use one stream or event, and nothing says which call comes first.
    #[error("two host threads make calls {first} and {second} in no defined order")]
    Unissued { first: usize, second: usize, shared: Shared },
}

/// Checks that any two calls of the body that touch overlapping bytes, one of
/// them writing, are ordered by a stream, an event or a synchronisation, and
/// that the host waits for everything before the body ends. Where host threads use one stream
/// or one event, it must be known which comes first.
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
    let mut issue = Issue::of_threads(program);
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

/// For each call of the body, the bytes that it reads and that everything which wrote them before
/// is known to be done with.
pub fn ordered_reads(program: &Program) -> Vec<Vec<Slice>> {
    let mut order = Order::new(program);
    let mut accesses: Vec<LatestAccesses> =
        program.allocations.iter().map(|_| LatestAccesses::default()).collect();
    let mut found = vec![Vec::new(); program.body.len()];
    for (index, reads) in found.iter_mut().enumerate() {
        let Some((call, passed)) = order.pass() else { break };
        let Some(number) = passed.number else { continue };
        for one in program.accesses(call) {
            let (touched, writes) = (one.touched, one.writes());
            let access = OrderedAccess { touched, writes, call: index, lane: passed.lane, number };
            let earlier = &mut accesses[one.allocation().0];
            let is_ordered = note(program, passed.known, earlier, access).is_ok();
            if is_ordered && !writes {
                reads.push(touched.slice);
            }
        }
    }
    found
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
    let last = program.lanes().iter().rposition(|other| other == Some(lane));
    let (last, stream) = (last.unwrap_or(0), lane % program.streams.len());
    Err(Hazard::Unfinished { last, stream })
}

/// A use of some bytes by a call that has its place in an order.
#[derive(Debug, Clone, Copy)]
pub(super) struct OrderedAccess {
    pub touched: Touched,
    pub writes: bool,
    /// The call's position in the body, its lane, and its number there, from 1.
    pub call: usize,
    pub lane: usize,
    pub number: usize,
}

/// The accesses to one allocation so far that have no other to stand for them. If each comes behind
/// all that it has to follow, the last write of a byte stands for all before it, and the last read
/// of a lane for those before it in that lane.
#[derive(Default)]
pub(super) struct LatestAccesses {
    /// Ranges of bytes that were used alike, by where they begin.
    ranges: BTreeMap<Bytes, Range>,
    /// LatestAccesses to rows that lie apart.
    rows: Vec<OrderedAccess>,
}

#[derive(Clone)]
struct Range {
    end: Bytes,
    write: Option<OrderedAccess>,
    /// Reads since the last write, one of each lane at most.
    reads: Vec<OrderedAccess>,
}

impl LatestAccesses {
    /// The earlier accesses that one has to follow, more than once if they share several ranges.
    pub fn before<'a>(
        &'a self,
        access: &OrderedAccess,
    ) -> impl Iterator<Item = &'a OrderedAccess> + use<'a> {
        let OrderedAccess { touched, writes, .. } = *access;
        let ranges = self.overlapping(touched).flat_map(move |(_, range)| {
            range.write.iter().chain(range.reads.iter().filter(move |_| writes))
        });
        let conflicts = move |old: &&OrderedAccess| old.writes || writes;
        let rows = self.rows.iter().filter(move |old| old.touched.overlaps(&touched));
        ranges.filter(move |old| old.touched.overlaps(&touched)).chain(rows.filter(conflicts))
    }

    /// Notes an access that comes behind all that it has to follow.
    pub fn add(&mut self, access: OrderedAccess) {
        let OrderedAccess { touched, writes, lane, .. } = access;
        let is_stood_for = |old: &OrderedAccess| {
            let follows = writes || (!old.writes && old.lane == lane);
            follows && touched.covers(&old.touched)
        };
        self.rows.retain(|old| !is_stood_for(old));
        if !touched.is_whole() {
            self.rows.push(access);
            return;
        }
        let (start, end) = (touched.slice.offset, touched.slice.end());
        self.split(start);
        self.split(end);
        if writes {
            let covered: Vec<Bytes> = self.ranges.range(start..end).map(|(&at, _)| at).collect();
            covered.iter().for_each(|at| drop(self.ranges.remove(at)));
            self.ranges.insert(start, Range { end, write: Some(access), reads: Vec::new() });
            return;
        }
        let (mut reached, mut gaps) = (start, Vec::new());
        for (&at, range) in self.ranges.range_mut(start..end) {
            range.reads.retain(|old| old.lane != lane);
            range.reads.push(access);
            gaps.extend((reached < at).then_some((reached, at)));
            reached = range.end;
        }
        gaps.extend((reached < end).then_some((reached, end)));
        for (at, end) in gaps {
            self.ranges.insert(at, Range { end, write: None, reads: vec![access] });
        }
    }

    /// The ranges that have bytes in common with some, or lie between rows of them.
    fn overlapping(&self, touched: Touched) -> impl Iterator<Item = (&Bytes, &Range)> {
        let (start, end) = (touched.slice.offset, touched.slice.end());
        let before = self.ranges.range(..start).next_back();
        before
            .filter(|(_, range)| range.end > start)
            .into_iter()
            .chain(self.ranges.range(start..end))
    }

    /// Has a range end at a byte, if one lies there.
    fn split(&mut self, at: Bytes) {
        let Some((_, range)) = self.ranges.range_mut(..at).next_back() else { return };
        if range.end > at {
            let behind = range.clone();
            range.end = at;
            self.ranges.insert(at, behind);
        }
    }
}
