//! What was used since a range of memory was last used, byte by byte.

use crate::profile::{MOST_OPERANDS, Reuse};
use crate::program::Slice;
use crate::units::Bytes;
use std::ops::Range;

/// The latest use of some bytes: where they begin and end, its number among all uses, and who made
/// it.
#[derive(Clone, Copy)]
struct Use<B> {
    start: Bytes,
    end: Bytes,
    at: usize,
    by: B,
}

impl<B> Use<B> {
    fn bytes(&self) -> u64 {
        (self.end - self.start).get()
    }
}

/// Non-overlapping ranges of bytes, each with its latest use.
pub(super) struct Uses<B> {
    /// The ranges of each allocation, in order. They are few, or come in order: so a list is
    /// searched, and changed in its middle, faster than a tree.
    ranges: Vec<Vec<Use<B>>>,
    /// The bytes whose latest use has each number.
    sums: Sums,
}

impl<B> Default for Uses<B> {
    fn default() -> Self {
        Self { ranges: Vec::new(), sums: Sums(vec![0]) }
    }
}

impl<B: Copy> Uses<B> {
    /// Notes a use of the slice, now the latest of all.
    pub fn note(&mut self, slice: &Slice, by: B) {
        if slice.length == Bytes::ZERO {
            return;
        }
        let at = self.sums.push(slice.length.get());
        let used = Use { start: slice.offset, end: slice.end(), at, by };
        let id = slice.allocation.0;
        if id >= self.ranges.len() {
            self.ranges.resize_with(id + 1, Vec::new);
        }
        let places = self.places(slice);
        // Most bytes are used again as they were used before.
        if let [before] = &mut self.ranges[id][places.clone()]
            && (before.start, before.end) == (used.start, used.end)
        {
            self.sums.remove(before.at, before.bytes());
            *before = used;
            return;
        }
        self.replace(slice, places, Some(used));
    }

    /// Whether someone who `is_meant` was the last to use some of the slice.
    pub fn is_by(&self, slice: &Slice, is_meant: impl Fn(B) -> bool) -> bool {
        self.overlapping(slice).iter().any(|used| is_meant(used.by))
    }

    /// Forgets all uses of the slice.
    pub fn forget(&mut self, slice: &Slice) {
        let places = self.places(slice);
        if !places.is_empty() {
            self.replace(slice, places, None);
        }
    }

    /// Puts a use, or nothing, in place of all uses of the slice. What lies beyond its ends stays.
    fn replace(&mut self, slice: &Slice, places: Range<usize>, used: Option<Use<B>>) {
        let Self { ranges, sums, .. } = self;
        let ranges = &mut ranges[slice.allocation.0];
        let over = &ranges[places.clone()];
        let before = over.first().filter(|first| first.start < slice.offset);
        let before = before.map(|first| Use { end: slice.offset, ..*first });
        let behind = over.last().filter(|last| last.end > slice.end());
        let behind = behind.map(|last| Use { start: slice.end(), ..*last });
        over.iter().for_each(|gone| sums.remove(gone.at, gone.bytes()));
        before.iter().chain(&behind).for_each(|left| sums.add(left.at, left.bytes()));
        ranges.splice(places, before.into_iter().chain(used).chain(behind));
    }

    /// How many bytes of the slice were used.
    pub fn covered(&self, slice: &Slice) -> Bytes {
        let part = |used: &Use<B>| used.end.min(slice.end()) - used.start.max(slice.offset);
        self.overlapping(slice).iter().map(part).sum()
    }

    /// Who used the slice last. Its middle decides, because its ends may be halos of others.
    pub fn last_by(&self, slice: &Slice) -> Option<B> {
        self.last(slice).map(|used| used.by)
    }

    /// The stack distance of each slice: the bytes of everything that was used since the slice was,
    /// including what is used along with it now (Mattson, Gecsei, Slutz, Traiger, "Evaluation
    /// Techniques for Storage Hierarchies", IBM Systems Journal 1970). `None` if the slice was not
    /// used.
    pub fn since<'a>(
        &'a self,
        slices: &'a [Slice],
        now: &'a [Slice],
    ) -> impl Iterator<Item = Option<Bytes>> + 'a {
        let last = |slice: &Slice| self.last(slice).map(|used| used.at);
        let mut latest = [None; MOST_OPERANDS];
        latest.iter_mut().zip(now).for_each(|(latest, slice)| *latest = last(slice));
        slices.iter().map(move |slice| {
            let known = now.iter().position(|one| one == slice).map(|at| latest[at]);
            let then = known.unwrap_or_else(|| last(slice))?;
            let others = now.iter().zip(&latest).filter(|(_, at)| at.is_none_or(|at| at < then));
            let since = self.sums.all().wrapping_sub(self.sums.first(then - 1));
            Some(Bytes::new(since) + others.map(|(one, _)| one.length).sum())
        })
    }

    /// For each slice, its size, and the bytes that were used since its last use, counting all
    /// `operands` of the kernel. A slice that was never used counts as the whole `footprint` of a
    /// pass, which is also the most.
    pub fn reuse(&self, slices: &[Slice], operands: &[Slice], footprint: Bytes) -> Reuse {
        let mut reuse = Reuse::default();
        let since = slices.iter().zip(self.since(slices, operands));
        for (reuse, (slice, since)) in reuse.0.iter_mut().zip(since) {
            *reuse = (slice.length, since.unwrap_or(footprint).min(footprint));
        }
        reuse
    }

    fn last(&self, slice: &Slice) -> Option<Use<B>> {
        let middle = slice.offset + Bytes::new(slice.length.get() / 2);
        let found = Slice { offset: middle, length: Bytes::new(1), ..*slice };
        self.overlapping(&found).first().copied()
    }

    /// The ranges that overlap a slice.
    fn overlapping(&self, slice: &Slice) -> &[Use<B>] {
        match self.ranges.get(slice.allocation.0) {
            Some(ranges) => &ranges[self.places(slice)],
            None => &[],
        }
    }

    /// The places in their list of the ranges that overlap a slice.
    fn places(&self, slice: &Slice) -> Range<usize> {
        let Some(ranges) = self.ranges.get(slice.allocation.0) else { return 0..0 };
        let first = ranges.partition_point(|used| used.end <= slice.offset);
        let count = ranges[first..].iter().take_while(|used| used.start < slice.end()).count();
        first..first + count
    }
}

/// Numbers of bytes, summed as a tree in which the sum of any stretch takes a few steps (Fenwick,
/// "A New Data Structure for Cumulative Frequency Tables", Software: Practice and Experience 1994).
struct Sums(Vec<u64>);

impl Sums {
    /// Adds a number behind all others, and returns its place, from 1.
    fn push(&mut self, bytes: u64) -> usize {
        let at = self.0.len();
        let before = self.all().wrapping_sub(self.first(at & (at - 1)));
        self.0.push(before.wrapping_add(bytes));
        at
    }

    fn all(&self) -> u64 {
        self.first(self.0.len() - 1)
    }

    fn add(&mut self, mut at: usize, bytes: u64) {
        while let Some(sum) = self.0.get_mut(at) {
            *sum = sum.wrapping_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    fn remove(&mut self, at: usize, bytes: u64) {
        self.add(at, bytes.wrapping_neg());
    }

    /// The sum of the first so many.
    fn first(&self, mut places: usize) -> u64 {
        let mut sum = 0_u64;
        while places > 0 {
            sum = sum.wrapping_add(self.0[places]);
            places -= places & places.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::AllocationId;

    fn first(mut since: impl Iterator<Item = Option<Bytes>>) -> Option<u64> {
        since.next().flatten().map(Bytes::get)
    }

    fn slice(allocation: usize, offset: u64, length: u64) -> Slice {
        let [offset, length] = [offset, length].map(Bytes::new);
        Slice { allocation: AllocationId(allocation), offset, length }
    }

    #[test]
    fn what_was_used_since_is_counted_once_and_what_was_overwritten_is_gone() {
        let [a, b, c] = [slice(0, 0, 100), slice(0, 100, 10), slice(1, 0, 1)];
        let mut uses = Uses::default();
        let since = |uses: &Uses<()>, one: &Slice, now: &[Slice]| first(uses.since(&[*one], now));
        assert_eq!(since(&uses, &a, &[a]), None);
        [a, b, c, b].iter().for_each(|one| uses.note(one, ()));
        assert_eq!(since(&uses, &a, &[a]), Some(111));
        assert_eq!(since(&uses, &c, &[c]), Some(11));
        assert_eq!(since(&uses, &b, &[b]), Some(10));
        // Slices that are used along with it now count, too.
        assert_eq!(since(&uses, &b, &[b, c]), Some(11));
        assert_eq!(since(&uses, &a, &[a, b]), Some(111));
        // Part of the first slice is overwritten, without its middle; then all of it.
        uses.forget(&slice(0, 96, 4));
        assert_eq!(since(&uses, &a, &[a]), Some(107));
        assert_eq!(since(&uses, &c, &[c, a]), Some(11 + 100));
        uses.forget(&slice(0, 0, 110));
        assert_eq!([a, b, c].map(|one| since(&uses, &one, &[one])), [None, None, Some(1)]);
    }

    #[test]
    fn a_halo_does_not_tell_how_near_the_rest_is() {
        let mut uses = Uses::default();
        (0..4).for_each(|chunk| uses.note(&slice(0, 100 * chunk, 100), chunk));
        let with_halo = slice(0, 190, 120);
        assert_eq!(uses.last_by(&with_halo), Some(2));
        assert_eq!(first(uses.since(&[with_halo], &[with_halo])), Some(200));
        // Bytes that it shares with its neighbours count once.
        uses.note(&with_halo, 9);
        let all: Vec<_> = [0, 100, 200, 300].map(|at| uses.last_by(&slice(0, at, 100))).into();
        assert_eq!(all, [Some(0), Some(1), Some(9), Some(3)]);
        assert_eq!(first(uses.since(&[slice(0, 0, 100)], &[])), Some(400));
    }

    #[test]
    fn what_was_used_is_forgotten_piece_by_piece() {
        let mut uses = Uses::default();
        uses.note(&slice(1, 100, 100), 1);
        for (at, from) in [(0, 100), (2, 100), (1, 0)] {
            uses.forget(&slice(at, from, 100));
        }
        let covered = |uses: &Uses<u8>, from, length| uses.covered(&slice(1, from, length)).get();
        assert_eq!(covered(&uses, 0, 300), 100);
        // From the middle of a range, so both of its ends are left.
        uses.forget(&slice(1, 140, 20));
        assert_eq!(covered(&uses, 120, 60), 40);
        uses.forget(&slice(1, 139, 2));
        assert_eq!(covered(&uses, 120, 60), 19 + 20);
        assert_eq!(covered(&uses, 139, 21), 0);
        // Several ranges at once; then there is nothing left.
        uses.forget(&slice(1, 0, 300));
        assert_eq!(covered(&uses, 0, 300), 0);
        // A range that is written again, across its own edge.
        uses.note(&slice(1, 0, 10), 2);
        uses.note(&slice(1, 5, 10), 3);
        assert_eq!([0, 5].map(|at| uses.last_by(&slice(1, at, 1))), [Some(2), Some(3)]);
        assert_eq!(covered(&uses, 0, 300), 15);
    }
}
