//! How much memory a program takes, how much there is, and how much of the host's a pass goes
//! through: caches hold it from one pass to the next, or do not.

use super::accesses::{Access, AccessKind};
use super::call::Call;
use super::operands::Place;
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
            let (from, to) = (slice.offset.get(), slice.end().get());
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
