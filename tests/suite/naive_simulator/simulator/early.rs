//! Operations that came too early: their engine polls for them.

use super::{Ending, Simulator, Stream};
use crate::naive_simulator::polling::{Arrival, first_poll};
use hallway::machine::{Direction, OperationKind};

/// From the ring of a doorbell to the arrival of the commands.
const RING: u64 = 1_300;

/// What an engine finds that polls for the end of something.
pub(super) enum Poll {
    /// The engine does not poll for such ends.
    Never,
    /// It polls when that is over.
    InTime,
    /// It polls too early; periods count from then.
    TooEarly(u64),
}

impl Simulator<'_> {
    /// When an operation reaches the device.
    fn arrival(&self, call: usize) -> u64 {
        self.issued[call].expect("issued") + self.prices.cost_of(call).latency.nanos()
    }

    /// Whether an operation finds its engine busy with the one before it in its stream.
    pub(super) fn queues_behind_last(&self, call: usize) -> bool {
        let last = self.streams[self.stream_of(call)].last;
        last.kind == self.kind_of(call) && last.time > self.arrival(call)
    }

    /// How the engine of an operation polls for the end of `from`.
    pub(super) fn polls(
        &self,
        (call, kind): (usize, OperationKind),
        from: &Ending,
        across: bool,
    ) -> Poll {
        let polling = self.profile.latency.semaphore_polling.as_ref();
        let before = from.kind.filter(|&before| before != kind);
        let (Some(clock), Some(polling), Some(before)) = (self.clock, polling, before) else {
            return Poll::Never;
        };
        let tolerance = if across {
            &polling.arrival_tolerance
        } else {
            polling.tolerance_behind(before, kind)
        };
        let Stream { last, started, .. } = &self.streams[self.stream_of(call)];
        let arrival = self.arrival(call);
        let is_behind = self.queues_behind_last(call);
        let turn = if is_behind { arrival.max(*started) } else { arrival };
        if from.time <= turn + tolerance.span().nanos() {
            return Poll::InTime;
        }
        let beside = Direction::BOTH.into_iter().filter_map(|way| {
            let engine = &self.engines[way as usize];
            let (since, until) = engine.under_way(arrival)?;
            let left = until.map(|until| until - arrival);
            let from = OperationKind::of_copy(way);
            Some(first_poll(self.profile, kind, Some((from, arrival - since, left))))
        });
        let first = turn + beside.fold(first_poll(self.profile, kind, None), u64::max);
        let is_found_meanwhile = is_behind && clock.next(first, from.time) <= last.time;
        if is_found_meanwhile { Poll::InTime } else { Poll::TooEarly(first) }
    }

    /// What has been issued for an engine, in the order of its arrival.
    fn arrivals(&self, kind: OperationKind) -> Vec<Arrival> {
        let calls = 0..self.issued.len();
        let here: Vec<usize> = calls
            .filter(|&call| self.issued[call].is_some() && self.kind_of(call) == Some(kind))
            .collect();
        let arrival = |(at, &call): (usize, &usize)| {
            let stream = self.stream_of(call);
            let before = here[..at].iter().rfind(|&&other| self.stream_of(other) == stream);
            let is_behind = before.is_some_and(|&before| self.endings[before].is_none());
            let time = self.arrival(call);
            let ring = time.saturating_sub(RING).max(self.issued[call].unwrap_or(0));
            Arrival { call, ring, time, is_behind }
        };
        here.iter().enumerate().map(arrival).collect()
    }

    /// Leaves an operation that may go on to the next poll of its engine.
    pub(super) fn miss(&mut self, call: usize) {
        let (Some(clock), Some(kind)) = (self.clock, self.kind_of(call)) else { return };
        let (arrivals, missed) = (self.arrivals(kind), self.missed[call]);
        self.polling[kind as usize].wait((clock, &arrivals), call, missed, self.now);
    }

    /// More was issued, which may cause a poll.
    pub(super) fn ring_doorbells(&mut self) {
        let Some(clock) = self.clock else { return };
        for kind in OperationKind::ALL.into_iter().take(self.polling.len()) {
            if let Some(next) = self.polling[kind as usize].next {
                let arrivals = self.arrivals(kind);
                let engine = &mut self.polling[kind as usize];
                let woken = engine.next_arrival(clock, &arrivals, self.now);
                engine.next = Some(woken.map_or(next, |woken| woken.min(next)));
            }
        }
    }

    /// Lets go on what engines find that poll now.
    pub(super) fn poll(&mut self) {
        let mut found = Vec::new();
        for engine in &mut self.polling {
            if engine.next.is_some_and(|next| next <= self.now) {
                (engine.last, engine.next) = (self.now, None);
                found.append(&mut engine.waiting);
            }
        }
        for call in found {
            self.set_off(call, self.now);
        }
    }
}
