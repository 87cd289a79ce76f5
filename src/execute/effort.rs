//! How long a plan is run.

use crate::machine::HostMemory;
use crate::program::{Allocation, Call, Place, Program};
use std::time::Duration;

/// Passes after which the device and this core's caches have warmed up to a plan, if the
/// CPU neither computes on its data nor stages it.
const PASSES_TO_KNOW: usize = 3;

/// How long a plan is run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How many turns each plan has, if several plans run in turn; everything below is
    /// per turn. If a turn is too short for the passes of a warm-up, a plan has the time
    /// of several turns at once.
    pub turns: usize,
    /// The least warm-up before timing: clocks rise and page tables fill.
    pub(super) warm_up: Duration,
    /// The least warm-up of plans in which the CPU computes, instead. The clock of a core that the
    /// thread has just come to rises for longer than driver calls show. (On hosts of H100s, sums of
    /// 0.8 us took 0.9 us after one millisecond.) Threads that have slept wake up where the system
    /// puts them, perhaps two on a core, and it takes a while until one is moved.
    pub(super) compute_warm_up: Duration,
    /// The CPU's last-level cache takes about twenty passes to settle on what to keep.
    /// Plans whose data the CPU does not go through need fewer.
    pub(super) warm_up_passes: usize,
    /// The most warm-up. A pass that takes longer than this has displaced, by its end,
    /// whatever its start left in the caches.
    pub(super) longest_warm_up: Duration,
    /// Timed passes stop after this time or after `most` passes, but not before `fewest`.
    pub(super) timed: Duration,
    pub(super) fewest: usize,
    pub(super) most: usize,
}

impl Effort {
    /// For plans that are run one at a time: a long warm-up, and many timed passes.
    pub const FULL: Self = Self {
        turns: 1,
        warm_up: Duration::from_millis(60),
        compute_warm_up: Duration::from_millis(60),
        warm_up_passes: 20,
        longest_warm_up: Duration::from_secs(5),
        timed: Duration::from_millis(120),
        fewest: 7,
        most: 101,
    };
    /// For many plans, where no single one matters much. A plan of some microseconds differs by 7%
    /// from turn to turn in the median, and by 2% within a turn, so many short turns tell more.
    /// With two rounds of 16 turns, one half of all passes differed by 1.3 to 2.6% from the other;
    /// with 20 turns, a calibration takes less than 75 s.
    pub const SHORT: Self = Self {
        turns: 20,
        warm_up: Duration::from_millis(1),
        compute_warm_up: Duration::from_millis(3),
        longest_warm_up: Duration::from_millis(3),
        timed: Duration::from_micros(500),
        fewest: 1,
        most: 3,
        ..Self::FULL
    };
    /// For a few programs that are compared with each other: each has several short turns, between
    /// those of the others.
    pub const IN_TURN: Self = Self {
        turns: 4,
        warm_up: Duration::from_millis(5),
        compute_warm_up: Duration::from_millis(10),
        longest_warm_up: Duration::from_millis(100),
        timed: Duration::from_millis(20),
        fewest: 2,
        most: 25,
        ..Self::FULL
    };
    /// For hundreds of plans that are run one at a time, in minutes: enough for a median in each of
    /// a few rounds.
    pub const BRIEF: Self = Self {
        warm_up: Duration::from_millis(10),
        compute_warm_up: Duration::from_millis(20),
        longest_warm_up: Duration::from_millis(200),
        timed: Duration::from_millis(30),
        fewest: 3,
        most: 51,
        ..Self::FULL
    };

    /// How many turns at once a plan has whose passes take `pass`. The number divides
    /// `turns`, so none is left over.
    pub(super) fn at_once(&self, pass: Duration) -> usize {
        let warm_up = pass.as_secs_f64() * self.warm_up_passes as f64;
        let turns = (warm_up / self.longest_warm_up.as_secs_f64()).ceil() as usize;
        let mut whole =
            (turns.max(1)..self.turns).filter(|&turns| self.turns.is_multiple_of(turns));
        whole.next().unwrap_or(self.turns)
    }

    /// The effort of `turns` turns at once. Half as many passes are enough for a median
    /// then, and keep a long plan from taking time from all others.
    pub(super) fn times(self, turns: usize) -> Self {
        let longer = |time: Duration| time * u32::try_from(turns).unwrap_or(u32::MAX);
        Self {
            longest_warm_up: longer(self.longest_warm_up),
            timed: longer(self.timed),
            fewest: if turns > 1 { (self.fewest * turns).div_ceil(2) } else { self.fewest },
            most: self.most * turns,
            ..self
        }
    }
}

/// How many warm-up passes a plan needs. The CPU's caches only learn of data that the CPU
/// itself goes through.
pub(super) fn warm_up_passes(program: &Program, effort: Effort) -> usize {
    let is_staged = |at: &Allocation| at.place == Place::Host(HostMemory::Pageable);
    if program.body.iter().any(Call::works_on_cpu) || program.allocations.iter().any(is_staged) {
        return effort.warm_up_passes;
    }
    effort.warm_up_passes.min(PASSES_TO_KNOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warm-up of a turn is limited to 3 ms: twenty passes of 150 us.
    #[test]
    fn longer_plans_have_several_turns_at_once() {
        let at_once = |micros| Effort::SHORT.at_once(Duration::from_micros(micros));
        assert_eq!([0, 20, 150, 151, 300].map(at_once), [1, 1, 1, 2, 2]);
        // 20 turns can be taken four or five at a time, but neither three nor eight.
        assert_eq!([301, 600, 601, 1_200, 1_501].map(at_once), [4, 4, 5, 10, 20]);
        // However long a pass is, there are no more than all turns at once.
        assert_eq!(at_once(1_000_000), 20);
        assert_eq!(Effort::FULL.at_once(Duration::from_secs(9)), 1);
        let Effort { longest_warm_up, timed, fewest, most, .. } = Effort::SHORT.times(4);
        assert_eq!((longest_warm_up, timed), (Duration::from_millis(12), Duration::from_millis(2)));
        assert_eq!((fewest, most), (2, 12));
        assert_eq!(Effort::FULL.times(1).fewest, Effort::FULL.fewest);
    }
}
