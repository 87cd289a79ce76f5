//! What is known of the bytes of an allocation: who used them last, and how.

use super::operands::Touched;
use crate::units::Bytes;
use std::collections::BTreeMap;

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
