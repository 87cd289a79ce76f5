//! The clock by which engines poll, and from when on polling periods count.

use crate::cost::{PollClock, PollTimes, TICKS};
use crate::machine::Direction;
use crate::profile::OperationKind;
use crate::simulate::copies::Copies;
use crate::units::{Instant, Span};

impl PollTimes {
    /// How long after its arrival at `then` the polling periods of an operation begin to count, if
    /// it came too early. A command comes down the link behind the data that is under way (on an
    /// H200, any kernel launched beside a copy to the device starts 2.0 us later). A small part of
    /// that time is there without any copies.
    pub(in crate::simulate) fn first_poll(
        &self,
        copies: &Copies<'_>,
        (device, kind): (usize, OperationKind),
        then: Instant,
    ) -> Span {
        let beside = |way| {
            let (since, until) = copies.under_way(device, way, then)?;
            let from = OperationKind::of_copy(way);
            let pair = self.under_way.iter().find(|pair| (pair.0, pair.1) == (from, kind));
            let after = pair
                .map_or(self.first_polls[from as usize][kind as usize], |(.., curve)| {
                    Span::from_nanos_f64(curve.within(then.since(since).nanos_f64()))
                });
            // It waits for data that is ahead of it, so for no longer than there is such data.
            Some(until.map_or(after, |until| after.min(until.since(then))))
        };
        let alone = self.first_polls[OperationKind::Kernel as usize][kind as usize];
        Direction::BOTH.into_iter().filter_map(beside).fold(alone, Span::max)
    }
}

impl PollClock {
    /// The first poll at or after `ready`, if periods count from `first`. Up to `first`, a poll is
    /// always just over.
    pub(in crate::simulate) fn next(&self, first: Instant, ready: Instant) -> Instant {
        let tick = self.tick.nanos();
        // What periods count from was fitted for the average, as if the eighth edge were a whole
        // period away. On average it is half a tick less.
        let from = ready.min(first + self.half_a_tick());
        let poll = from + Span::from_nanos(TICKS * tick - self.since_edge(from));
        let periods = ready.since(poll.min(ready)).nanos().div_ceil(TICKS * tick);
        poll + Span::from_nanos(periods * TICKS * tick)
    }

    /// Nanoseconds since the last edge of the clock.
    #[inline]
    fn since_edge(&self, time: Instant) -> u64 {
        (time.since_start() + self.tick - self.first_edge).nanos() % self.tick.nanos()
    }

    #[inline]
    fn half_a_tick(&self) -> Span {
        Span::from_nanos(self.tick.nanos() / 2)
    }

    /// From when periods count after a doorbell has rung for work that lies behind a waiting
    /// operation; `None` if the ring changes nothing.
    #[inline]
    pub(super) fn rung_anew(&self, ring: Instant) -> Option<Instant> {
        let is_heeded = self.since_edge(ring) < self.half_a_tick().nanos();
        is_heeded.then(|| ring.earlier_by(self.half_a_tick()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the edges lie, and however short the ticks are.
    #[test]
    fn polls_are_at_edges_and_a_period_apart_in_the_mean() {
        for tick in [1, 2, 750, 1_023] {
            let (start, mut sum) = (50_000, 0);
            for first_edge in 1..=tick {
                let [length, first_edge] = [tick, first_edge].map(Span::from_nanos);
                let clock = PollClock { tick: length, first_edge };
                let at = |nanos| Instant::START + Span::from_nanos(nanos);
                let poll = clock.next(at(start), at(start + tick)).since_start().nanos();
                assert_eq!(poll % tick, first_edge.nanos() % tick);
                sum += poll - start;
                let later = clock.next(at(start), at(start + 20 * TICKS * tick));
                assert_eq!((later.since_start().nanos() - poll) % (TICKS * tick), 0);
                assert!(later >= at(start + 20 * TICKS * tick));
            }
            let mean = sum as f64 / tick as f64;
            assert!((mean / (TICKS * tick) as f64 - 1.0).abs() < 0.07, "{mean} with {tick}");
        }
    }
}
