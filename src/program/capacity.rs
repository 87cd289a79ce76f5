//! How much memory a program takes, how much there is, and how much of the host's a pass goes
//! through: caches hold it from one pass to the next, or do not.

use super::accesses::AccessKind;
use super::operands::{AllocationId, Place};
use super::value::Program;
use crate::machine::{Capacities, Direction};
use crate::units::Bytes;

/// Where the figures of some [`Capacities`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// `[limits]` of a scenario.
    Scenario,
    /// The machine of a profile.
    Machine,
    /// What is free right now on the machine that will run the program.
    Now,
}

/// A program that takes more of a memory than there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "needs {needs} of {memory} memory, but can use only {has}{}: {}",
    self.of_whom(),
    self.fix()
)]
pub struct DoesNotFit {
    /// `device`, `pinned` or `host`.
    pub memory: &'static str,
    pub needs: Bytes,
    pub has: Bytes,
    pub whose: Whose,
}

impl DoesNotFit {
    fn of_whom(&self) -> &'static str {
        match (self.whose, self.memory) {
            (Whose::Scenario, _) => "",
            (Whose::Machine, "device") => ", all that the device has",
            (Whose::Machine, _) => ", all that the host has",
            (Whose::Now, "device") => ", all that is free on the device",
            (Whose::Now, _) => ", all that is free on the host",
        }
    }

    /// What the user can do about it. Another plan is no advice: all that the scenario allows
    /// are tried.
    fn fix(&self) -> String {
        let limit = match self.whose {
            Whose::Scenario => format!("raise `{}_memory` in [limits] or ", self.memory),
            Whose::Machine | Whose::Now => String::new(),
        };
        format!("{limit}use smaller buffers")
    }
}

/// Checks that a program takes no more of any memory than there is.
///
/// # Errors
/// The first memory that does not suffice.
pub fn check_fits(program: &Program, there_is: Capacities, whose: Whose) -> Result<(), DoesNotFit> {
    let memories = [
        ("device", there_is.device, program.device_bytes()),
        ("pinned", there_is.pinned, program.pinned_bytes()),
        ("host", there_is.host, program.host_bytes()),
    ];
    for (memory, has, needs) in memories {
        if let Some(has) = has.filter(|&has| needs > has) {
            return Err(DoesNotFit { memory, needs, has, whose });
        }
    }
    Ok(())
}

/// Bytes of host memory that a pass uses. Bytes that several calls use count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFootprint {
    /// Of all calls: so much has to stay in the CPU's caches for the next pass to find it there.
    pub all: Bytes,
    /// Of copies between host and device.
    pub copied_both_ways: Bytes,
    /// Of copies to the host.
    pub copied_out: Bytes,
}

/// Which of the figures of a [`HostFootprint`] a call counts in, as bits.
const ALL: u8 = 1;
const COPIED: u8 = 2;
const COPIED_OUT: u8 = 4;

impl Program {
    /// Bytes of host memory that one pass uses.
    pub fn host_footprint(&self) -> HostFootprint {
        let mut ranges = UsedRanges::new(self.allocations.len());
        for call in &self.body {
            // What a kernel of the program's own uses is not counted.
            if call.step().is_some_and(|step| step.own_step().is_some()) {
                continue;
            }
            let counts = match call.crossing().map(|one| one.1) {
                Some(Direction::DeviceToHost) => ALL | COPIED | COPIED_OUT,
                Some(Direction::HostToDevice) => ALL | COPIED,
                None => ALL,
            };
            self.accesses(call).for_each(|access| {
                let slice = access.touched.slice;
                let is_on_host = matches!(self.allocation(slice.allocation).place, Place::Host(_));
                let is_used = !matches!(access.kind, AccessKind::Changes(_) | AccessKind::Scratch);
                if is_on_host && is_used {
                    ranges.add(slice.allocation, [slice.offset.get(), slice.end().get()], counts);
                }
            });
        }
        ranges.footprint()
    }
}

/// A range of an allocation, and the figures that its calls count in.
type UsedRange = (AllocationId, [u64; 2], u8);

/// The ranges that calls use.
struct UsedRanges {
    /// The latest range of each allocation: most calls go on where the one before ended, or begin
    /// anew.
    latest: Vec<Option<UsedRange>>,
    earlier: Vec<UsedRange>,
}

impl UsedRanges {
    fn new(allocations: usize) -> Self {
        Self { latest: vec![None; allocations], earlier: Vec::new() }
    }

    fn add(&mut self, allocation: AllocationId, [from, to]: [u64; 2], counts: u8) {
        match &mut self.latest[allocation.0] {
            Some((_, [first, last], same))
                if *same == counts && *first <= from && from <= *last =>
            {
                *last = to.max(*last);
            }
            latest => self.earlier.extend(latest.replace((allocation, [from, to], counts))),
        }
    }

    fn footprint(self) -> HostFootprint {
        let mut ranges = self.earlier;
        ranges.extend(self.latest.into_iter().flatten());
        ranges.sort_unstable();
        let [all, copied_both_ways, copied_out] =
            [ALL, COPIED, COPIED_OUT].map(|figure| Bytes::new(covered(&ranges, figure)));
        HostFootprint { all, copied_both_ways, copied_out }
    }
}

/// How many bytes lie in any of the ranges, in order, that count in a figure.
fn covered(ranges: &[UsedRange], figure: u8) -> u64 {
    let (mut bytes, mut end) = (0, (None, 0));
    for &(allocation, [from, to], _) in ranges.iter().filter(|(.., counts)| counts & figure > 0) {
        if end.0 != Some(allocation) {
            end = (Some(allocation), 0);
        }
        bytes += to.saturating_sub(from.max(end.1));
        end.1 = end.1.max(to);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes ranges of two allocations hold, all of them and those of copies.
    fn held(ranges: &[(usize, [u64; 2], u8)]) -> [u64; 2] {
        let mut used = UsedRanges::new(2);
        for &(allocation, range, counts) in ranges {
            used.add(AllocationId(allocation), range, counts);
        }
        let HostFootprint { all, copied_both_ways, .. } = used.footprint();
        [all.get(), copied_both_ways.get()]
    }

    #[test]
    fn bytes_in_several_ranges_count_once() {
        assert_eq!(held(&[]), [0, 0]);
        let [kernel, copy] = [ALL, ALL | COPIED];
        assert_eq!(held(&[(0, [8, 12], kernel), (0, [0, 4], copy), (0, [2, 6], copy)]), [10, 6]);
        let within = [(0, [0, 100], copy), (0, [10, 20], kernel), (0, [50, 120], kernel)];
        assert_eq!(held(&within), [120, 100]);
        assert_eq!(held(&[(0, [0, 8], copy), (1, [4, 8], copy), (1, [0, 4], copy)]), [16, 16]);
    }
}
