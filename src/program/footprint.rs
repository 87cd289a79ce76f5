//! How much host memory a pass goes through: caches hold it from one pass to the next, or do not.

use super::accesses::{Access, AccessKind};
use super::call::Call;
use super::operands::Place;
use super::value::Program;
use crate::machine::Direction;
use crate::units::Bytes;

impl Program {
    /// Bytes of host memory that one pass uses: all of it has to stay in the CPU's caches for the
    /// next pass to find it there.
    pub fn host_footprint(&self) -> Bytes {
        self.footprint_of(|_| true)
    }

    /// Bytes of host memory that copies in the given directions use in a pass.
    pub fn copied_footprint(&self, directions: &[Direction]) -> Bytes {
        self.footprint_of(|call| call.crossing().is_some_and(|one| directions.contains(&one.1)))
    }

    /// Bytes of host memory that some calls of the body use. Bytes that several of them use count
    /// once.
    fn footprint_of(&self, counts: impl Fn(&Call) -> bool) -> Bytes {
        let mut used: Vec<Vec<[u64; 2]>> = vec![Vec::new(); self.allocations.len()];
        // What a kernel of the program's own uses is not counted.
        let is_own = |call: &Call| call.step().is_some_and(|step| step.own_step().is_some());
        let calls = self.body.iter().filter(|call| counts(call) && !is_own(call));
        let mut add = |access: Access| {
            let slice = access.touched.slice;
            let is_on_host = matches!(self.allocation(slice.allocation).place, Place::Host(_));
            if !is_on_host || matches!(access.kind, AccessKind::Changes(_) | AccessKind::Scratch) {
                return;
            }
            let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
            let ranges = &mut used[slice.allocation.0];
            // Most calls go on where the one before ended, or begin anew.
            match ranges.last_mut() {
                Some([first, last]) if *first <= from && from <= *last => *last = to.max(*last),
                _ => ranges.push([from, to]),
            }
        };
        calls.for_each(|call| self.accesses(call).for_each(&mut add));
        Bytes::new(used.into_iter().map(covered).sum())
    }
}

/// How many bytes lie in any of some ranges.
fn covered(mut ranges: Vec<[u64; 2]>) -> u64 {
    ranges.sort_unstable();
    let (mut bytes, mut end) = (0, 0);
    for [from, to] in ranges {
        bytes += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn bytes_in_several_ranges_count_once() {
        assert_eq!(covered(vec![]), 0);
        assert_eq!(covered(vec![[8, 12], [0, 4], [2, 6]]), 10);
        assert_eq!(covered(vec![[0, 100], [10, 20], [50, 120]]), 120);
    }
}
