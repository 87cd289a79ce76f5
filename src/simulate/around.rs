//! Where a kernel on the CPU finds its data: how much memory was used since, and by whom.

use crate::plan::{AllocationId, Call, Direction, Plan, Slice};
use crate::profile::{Around, MOST_OPERANDS};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Of each kernel on the CPU, by its place in the body, which goes on where the one before it
/// ended. What copies use on the host is left out: most of it passes the caches by.
pub(super) fn around(plan: &Plan, threads: usize) -> BTreeMap<usize, Around> {
    let mut around = BTreeMap::new();
    let kernels = plan.body.iter().filter(|call| matches!(call, Call::Compute { .. })).count();
    if kernels == 0 {
        return around;
    }
    let footprint = plan.host_footprint();
    // Of each allocation, who used it last; of what no cache has, nobody.
    let mut users: Vec<Option<User>> = vec![None; plan.allocations.len()];
    let mut uses = Uses::new(2 * kernels * MOST_OPERANDS);
    for (at, call) in plan.body.iter().enumerate().chain(plan.body.iter().enumerate()) {
        let step = match call {
            Call::Compute { step } => step,
            // New, or written past the caches.
            Call::Renew(id) => {
                users[id.0] = None;
                let length = plan.allocation(*id).bytes;
                uses.forget(&Slice { allocation: *id, offset: Bytes::ZERO, length });
                continue;
            }
            Call::Copy { direction: Direction::DeviceToHost, to, .. } => {
                users[to.allocation.0] = None;
                uses.forget(to);
                continue;
            }
            _ => continue,
        };
        let user = match step.is_shared() {
            true if step.keeps_shares(threads) => User::Team,
            true => User::Helpers,
            false => User::One,
        };
        let used = |slice: &Slice, by: fn(User, User) -> bool| {
            let before = users[slice.allocation.0];
            before.filter(|&before| by(before, user)).map_or(Bytes::ZERO, |_| slice.length)
        };
        let only_read = || step.inputs.iter().filter(|slice| **slice != step.output);
        let operands: Vec<Slice> = only_read().chain([&step.output]).copied().collect();
        let mut reuse = [(Bytes::ZERO, Bytes::ZERO); MOST_OPERANDS];
        for (reuse, slice) in reuse.iter_mut().zip(&operands) {
            let since = uses.since(slice, &operands);
            *reuse = (slice.length, since.unwrap_or(footprint).min(footprint));
        }
        let bytes = |by| [only_read().map(|slice| used(slice, by)).sum(), used(&step.output, by)];
        let handed = bytes(|before, user| (before == User::One) != (user == User::One));
        let helped = bytes(|before, user| (before, user) == (User::Helpers, User::Team));
        around.insert(at, Around { reuse, handed, helped });
        operands.iter().for_each(|slice| users[slice.allocation.0] = Some(user));
        operands.iter().for_each(|slice| uses.note(slice));
    }
    around
}

/// Who runs a kernel.
#[derive(Clone, Copy, PartialEq)]
enum User {
    One,
    /// All threads, each its share.
    Team,
    /// All threads, and those that are through early help others.
    Helpers,
}

/// What kernels used, each slice at its latest use.
struct Uses {
    /// By allocation, offset and length.
    latest: BTreeMap<(AllocationId, Bytes, Bytes), usize>,
    /// The bytes that were last used at each place in the order of all uses, summed up as a
    /// tree: of the sums of any stretch, a few are enough (Fenwick, "A New Data Structure for
    /// Cumulative Frequency Tables", Software: Practice and Experience 1994).
    sums: Vec<u64>,
    count: usize,
}

impl Uses {
    fn new(most: usize) -> Self {
        Self { latest: BTreeMap::new(), sums: vec![0; most + 1], count: 0 }
    }

    fn note(&mut self, slice: &Slice) {
        let key = (slice.allocation, slice.offset, slice.length);
        self.count += 1;
        self.add(self.count, slice.length.get());
        if let Some(before) = self.latest.insert(key, self.count) {
            self.add(before, slice.length.get().wrapping_neg());
        }
    }

    /// Of what lies there, no cache has anything.
    fn forget(&mut self, place: &Slice) {
        let end = (place.allocation, place.end(), Bytes::ZERO);
        let there =
            |&(&(allocation, offset, length), _): &(&(AllocationId, Bytes, Bytes), &usize)| {
                Slice { allocation, offset, length }.overlaps(place)
            };
        let gone: Vec<_> =
            self.latest.range(..end).rev().take_while(there).map(|one| *one.0).collect();
        for key in gone {
            if let Some(at) = self.latest.remove(&key) {
                self.add(at, key.2.get().wrapping_neg());
            }
        }
    }

    /// The bytes of all that was used since a slice was, and of what is used with it now: its
    /// stack distance (Mattson, Gecsei, Slutz, Traiger, "Evaluation Techniques for Storage
    /// Hierarchies", IBM Systems Journal 1970). `None` if it was not used as such.
    fn since(&self, slice: &Slice, now: &[Slice]) -> Option<Bytes> {
        let latest = |slice: &Slice| {
            self.latest.get(&(slice.allocation, slice.offset, slice.length)).copied()
        };
        let then = latest(slice)?;
        let others = now.iter().filter(|one| latest(one).is_none_or(|at| at < then));
        let since = self.sum(self.count).wrapping_sub(self.sum(then - 1));
        Some(Bytes::new(since) + others.map(|one| one.length).sum())
    }

    fn add(&mut self, mut at: usize, bytes: u64) {
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    /// Of what was last used at the first so many places.
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

    fn slice(allocation: usize, offset: u64, length: u64) -> Slice {
        let [offset, length] = [offset, length].map(Bytes::new);
        Slice { allocation: AllocationId(allocation), offset, length }
    }

    #[test]
    fn what_was_used_since_is_counted_once_and_what_was_overwritten_is_gone() {
        let [a, b, c] = [slice(0, 0, 100), slice(0, 100, 10), slice(1, 0, 1)];
        let mut uses = Uses::new(10);
        let since = |uses: &Uses, one: &Slice, now: &[Slice]| uses.since(one, now).map(Bytes::get);
        assert_eq!(since(&uses, &a, &[a]), None);
        [a, b, c, b].iter().for_each(|one| uses.note(one));
        assert_eq!(since(&uses, &a, &[a]), Some(111));
        assert_eq!(since(&uses, &c, &[c]), Some(11));
        assert_eq!(since(&uses, &b, &[b]), Some(10));
        // With it, others are used.
        assert_eq!(since(&uses, &b, &[b, c]), Some(11));
        assert_eq!(since(&uses, &a, &[a, b]), Some(111));
        // A copy writes some of the first.
        uses.forget(&slice(0, 96, 4));
        assert_eq!(since(&uses, &a, &[a]), None);
        assert_eq!(since(&uses, &c, &[c, a]), Some(111));
        uses.forget(&slice(0, 0, 110));
        assert_eq!([a, b, c].map(|one| since(&uses, &one, &[one])), [None, None, Some(1)]);
    }
}
