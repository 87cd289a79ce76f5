//! Kernels that are the first to read what a copy has brought to the device.
//!
//! That is not where a kernel finds it that runs again and again on the same data. On an H200,
//! with a clock in the kernels before and behind: loads take some 90 ns longer, so that kernels of
//! up to 2^17 elements take 0.35 us longer whose loads wait for the stores before them (four in a
//! thread: scale, saxpy, stencil), and 0.1 where all go at once (sum, polynomials). From 2^19
//! elements on, it is 0.5 to 2 us. Copies that take the output away make no difference.

use crate::plan::{AllocationId, Call, Direction, Plan, Slice};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The places in the body of the kernels on the device that read something which a copy from
/// the host wrote and no kernel has used since.
pub(super) fn just_copied(plan: &Plan) -> BTreeSet<usize> {
    let mut copied = Copied::default();
    let mut first_readers = BTreeSet::new();
    for (at, call) in plan.body.iter().enumerate() {
        match call {
            Call::Copy { direction: Direction::HostToDevice, to, .. } => copied.note(to),
            Call::Launch { step, .. } => {
                // All of them: what is read now is found near from here on.
                let reads = step.inputs.iter().filter(|slice| copied.take(slice)).count();
                copied.take(&step.output);
                if reads > 0 {
                    first_readers.insert(at);
                }
            }
            _ => {}
        }
    }
    first_readers
}

/// Ranges of bytes, none overlapping another.
#[derive(Default)]
struct Copied {
    /// Their ends, by where they begin.
    ends: BTreeMap<(AllocationId, Bytes), Bytes>,
}

impl Copied {
    fn note(&mut self, slice: &Slice) {
        self.take(slice);
        self.ends.insert((slice.allocation, slice.offset), slice.end());
    }

    /// Takes out what lies within a slice; gives whether anything does.
    fn take(&mut self, slice: &Slice) -> bool {
        let id = slice.allocation;
        let before_end = self.ends.range((id, Bytes::ZERO)..(id, slice.end())).rev();
        let overlapping = before_end.take_while(|&(_, &end)| end > slice.offset);
        let found: Vec<(Bytes, Bytes)> =
            overlapping.map(|(&(_, start), &end)| (start, end)).collect();
        for &(start, end) in &found {
            self.ends.remove(&(id, start));
            if start < slice.offset {
                self.ends.insert((id, start), slice.offset);
            }
            if end > slice.end() {
                self.ends.insert((id, slice.end()), end);
            }
        }
        !found.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_copied_is_found_once_piece_by_piece() {
        let slice = |allocation, offset, length| {
            let [offset, length] = [offset, length].map(Bytes::new);
            Slice { allocation: AllocationId(allocation), offset, length }
        };
        let mut copied = Copied::default();
        copied.note(&slice(1, 100, 100));
        for elsewhere in [slice(0, 100, 100), slice(2, 100, 100), slice(1, 0, 100)] {
            assert!(!copied.take(&elsewhere));
        }
        // From the middle: both ends are left.
        assert!(copied.take(&slice(1, 140, 20)));
        assert!(!copied.take(&slice(1, 140, 20)));
        assert!(copied.take(&slice(1, 139, 2)));
        assert!(!copied.take(&slice(1, 139, 21)));
        // Several at once, then nothing.
        assert!(copied.take(&slice(1, 0, 300)));
        assert!(!copied.take(&slice(1, 0, 300)));
        // Written once more, over its own edge.
        copied.note(&slice(1, 0, 10));
        copied.note(&slice(1, 5, 10));
        assert!(copied.take(&slice(1, 5, 10)));
        assert!(copied.take(&slice(1, 0, 15)));
        assert!(!copied.take(&slice(1, 0, 15)));
    }
}
