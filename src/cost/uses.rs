//! What was used since a range of memory was last used, byte by byte.

use crate::program::{AllocationId, Slice};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// The latest use of some bytes: where they end, its number among all uses, and who made it.
#[derive(Clone, Copy)]
struct Use<B> {
    end: Bytes,
    at: usize,
    by: B,
}

/// Non-overlapping ranges of bytes, each with its latest use.
pub(super) struct Uses<B> {
    /// The ranges, by where they begin.
    ranges: BTreeMap<(AllocationId, Bytes), Use<B>>,
    /// The bytes whose latest use has each number, summed as a tree in which the sum of any stretch
    /// takes a few steps (Fenwick, "A New Data Structure for Cumulative Frequency Tables",
    /// Software: Practice and Experience 1994).
    sums: Vec<u64>,
    count: usize,
}

impl<B: Copy> Uses<B> {
    /// Room for at most `most` uses.
    pub fn new(most: usize) -> Self {
        Self { ranges: BTreeMap::new(), sums: vec![0; most + 1], count: 0 }
    }

    /// Notes a use of the slice, now the latest of all.
    pub fn note(&mut self, slice: &Slice, by: B) {
        if slice.length == Bytes::ZERO {
            return;
        }
        self.count += 1;
        let (at, end) = (self.count, slice.end());
        // Most bytes are used again as they were used before.
        if let Some(used) = self.ranges.get_mut(&(slice.allocation, slice.offset))
            && used.end == end
        {
            let before = std::mem::replace(used, Use { end, at, by });
            self.add(before.at, slice.length.get().wrapping_neg());
            self.add(at, slice.length.get());
            return;
        }
        self.make_room(slice);
        self.insert(slice.allocation, slice.offset, Use { end, at, by });
    }

    /// Forgets all uses of the slice. Mostly one range holds all of it.
    fn make_room(&mut self, slice: &Slice) {
        let (id, offset, end) = (slice.allocation, slice.offset, slice.end());
        let before = self.ranges.range_mut(..(id, end)).next_back();
        match before {
            Some((&(holder, start), used)) if holder == id && start < offset && used.end >= end => {
                let whole = std::mem::replace(used, Use { end: offset, ..*used });
                self.add(whole.at, (whole.end - offset).get().wrapping_neg());
                if whole.end > end {
                    self.insert(id, end, whole);
                }
            }
            _ => {
                self.forget(slice);
            }
        }
    }

    /// Whether someone who `is_meant` was the last to use some of the slice.
    pub fn is_by(&self, slice: &Slice, is_meant: impl Fn(B) -> bool) -> bool {
        self.overlapping(slice).any(|(_, used)| is_meant(used.by))
    }

    /// Forgets all uses of the slice; returns who made the forgotten ones, the last in memory
    /// first.
    pub fn forget(&mut self, slice: &Slice) -> Vec<B> {
        let id = slice.allocation;
        let overlapping: Vec<_> = self.overlapping(slice).collect();
        for &(start, used) in &overlapping {
            self.ranges.remove(&(id, start));
            self.add(used.at, (used.end - start).get().wrapping_neg());
            if start < slice.offset {
                self.insert(id, start, Use { end: slice.offset, ..used });
            }
            if used.end > slice.end() {
                self.insert(id, slice.end(), used);
            }
        }
        overlapping.into_iter().map(|(_, used)| used.by).collect()
    }

    /// How many bytes of the slice were used.
    pub fn covered(&self, slice: &Slice) -> Bytes {
        let part =
            |(start, used): (Bytes, Use<B>)| used.end.min(slice.end()) - start.max(slice.offset);
        self.overlapping(slice).map(part).sum()
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
        let latest: Vec<Option<usize>> = now.iter().map(last).collect();
        slices.iter().map(move |slice| {
            let known = now.iter().position(|one| one == slice).map(|at| latest[at]);
            let then = known.unwrap_or_else(|| last(slice))?;
            let others = now.iter().zip(&latest).filter(|(_, at)| at.is_none_or(|at| at < then));
            let since = self.sum(self.count).wrapping_sub(self.sum(then - 1));
            Some(Bytes::new(since) + others.map(|(one, _)| one.length).sum())
        })
    }

    fn last(&self, slice: &Slice) -> Option<Use<B>> {
        let middle = slice.offset + Bytes::new(slice.length.get() / 2);
        let found = Slice { offset: middle, length: Bytes::new(1), ..*slice };
        self.overlapping(&found).next().map(|(_, used)| used)
    }

    /// The ranges that overlap a slice, the last in memory first.
    fn overlapping(&self, slice: &Slice) -> impl Iterator<Item = (Bytes, Use<B>)> {
        let (id, start) = (slice.allocation, slice.offset);
        let before_end = self.ranges.range((id, Bytes::ZERO)..(id, slice.end())).rev();
        let overlapping = before_end.take_while(move |&(_, used)| used.end > start);
        overlapping.map(|(&(_, start), used)| (start, *used))
    }

    fn insert(&mut self, id: AllocationId, start: Bytes, used: Use<B>) {
        self.add(used.at, (used.end - start).get());
        self.ranges.insert((id, start), used);
    }

    fn add(&mut self, mut at: usize, bytes: u64) {
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    /// The bytes whose latest use is one of the first `places`.
    fn sum(&self, mut places: usize) -> u64 {
        let mut sum = 0_u64;
        while places > 0 {
            sum = sum.wrapping_add(self.sums[places]);
            places -= places & places.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut uses = Uses::new(10);
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
        let mut uses = Uses::new(10);
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
    fn what_was_used_is_forgotten_once_piece_by_piece() {
        let mut uses = Uses::new(9);
        let forget =
            |uses: &mut Uses<u8>, at, from, length| uses.forget(&slice(at, from, length)).len();
        uses.note(&slice(1, 100, 100), 1);
        for (at, from) in [(0, 100), (2, 100), (1, 0)] {
            assert_eq!(forget(&mut uses, at, from, 100), 0);
        }
        // From the middle of a range, so both of its ends are left.
        assert_eq!(forget(&mut uses, 1, 140, 20), 1);
        assert_eq!(forget(&mut uses, 1, 140, 20), 0);
        assert_eq!(forget(&mut uses, 1, 139, 2), 1);
        assert_eq!(forget(&mut uses, 1, 139, 21), 0);
        assert_eq!(uses.covered(&slice(1, 120, 60)).get(), 19 + 20);
        assert_eq!(uses.covered(&slice(1, 139, 21)).get(), 0);
        // Several ranges at once; then there is nothing left.
        assert_eq!(forget(&mut uses, 1, 0, 300), 2);
        assert_eq!(forget(&mut uses, 1, 0, 300), 0);
        // A range that is written again, across its own edge.
        uses.note(&slice(1, 0, 10), 2);
        uses.note(&slice(1, 5, 10), 3);
        assert_eq!(uses.forget(&slice(1, 0, 15)), [3, 2]);
    }
}
