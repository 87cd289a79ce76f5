//! When an operation may start, given what it has to follow.

use super::copies::Copies;
use super::multiprocessors::Multiprocessors;
use super::operation::{Cause, Ending};
use crate::cost::{CompiledProgram, HandOverCost, NONE, PEER_ENGINE, PollTimes, Tie};
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::{Instant, Span};

/// What is under way on the engines of all devices. Commands share the link with copies; and where
/// hand-overs have costs, a busy engine takes over for nothing.
#[derive(Clone, Copy)]
pub(super) struct EngineView<'e> {
    pub now: Instant,
    pub copies: &'e Copies<'e>,
    pub multiprocessors: &'e Multiprocessors,
}

impl EngineView<'_> {
    /// Whether an engine is busy. This is asked only where a hand-over has a cost.
    #[cold]
    #[inline]
    pub fn are_busy(&self, device: usize, kind: OperationKind) -> bool {
        if kind == OperationKind::Kernel {
            return self.multiprocessors.is_busy(device);
        }
        // Kinds of copies are in the order of their engines.
        self.copies.busy(device)[(kind as usize).min(PEER_ENGINE)]
    }
}

/// The start of an operation, as far as it is known so far.
pub(super) struct Start<'e> {
    pub compiled: &'e CompiledProgram<'e>,
    pub kind: OperationKind,
    pub device: u16,
    pub engines: EngineView<'e>,
    /// Whether the operation is the first of its kind since its stream was last empty.
    pub is_first: bool,
    /// When the operation was issued, and when it reaches the device.
    pub arrival: (Instant, Instant),
    /// What came before the operation in its stream. If that used the same engine and was under way
    /// when this operation arrived, `since` is when it started.
    pub last: &'e Ending,
    pub since: Option<Instant>,
    pub time: Instant,
    /// Set if the engine has polled too early and gone on; polling periods then count from here.
    pub missed: Option<Instant>,
    pub cause: Cause,
}

impl Start<'_> {
    /// Puts the operation behind `from`; `longer` nanoseconds are added to the
    /// hand-over.
    #[inline(always)]
    pub fn follow(&mut self, from: &Ending, tie: Tie, longer: f64, reason: Reason) {
        // Nothing waits for what ended before the operation was issued.
        if from.time <= self.arrival.0 {
            return;
        }
        let mut nanos = longer;
        if self.compiled.hand_overs.takes_time[self.kind as usize][tie as usize] {
            let (takes, missed) = self.hand_over(from, tie, longer);
            self.missed = self.missed.max(missed);
            nanos = takes;
        }
        self.wait(from, nanos, reason);
    }

    /// How many nanoseconds a hand-over takes. If the engine has polled too early for it, also from
    /// when polling periods count.
    #[inline(always)]
    fn hand_over(&self, from: &Ending, tie: Tie, longer: f64) -> (f64, Option<Instant>) {
        let costs = &self.compiled.hand_overs.costs[self.kind as usize][tie as usize];
        let cost = from.kind.and_then(|before| costs[before as usize].as_ref());
        let (nanos, missed) = match cost {
            Some(cost) => self.take_over(cost, from, (tie, longer)),
            None => (longer, None),
        };
        let crossing =
            if self.is_elsewhere(from) { self.compiled.hand_overs.crossing } else { 0.0 };
        (nanos + crossing, missed)
    }

    /// How many nanoseconds a hand-over to another engine of one device takes, and, if that engine
    /// has polled too early, from when polling periods count.
    #[inline(always)]
    fn take_over(
        &self,
        cost: &HandOverCost,
        from: &Ending,
        (tie, longer): (Tie, f64),
    ) -> (f64, Option<Instant>) {
        match (cost.arrival_tolerance, &self.compiled.polling) {
            // An engine polls for what happens on its own device.
            (Some(tolerance), Some(times)) if !self.is_elsewhere(from) => {
                (0.0, self.poll(times, from, (tie, tolerance)))
            }
            // Hand-overs have a cost here. An engine that is busy goes on to the next operation
            // when it is done, and that costs nothing extra.
            _ if self.engines.are_busy(usize::from(self.device), self.kind) => (longer, None),
            _ => (longer + if self.is_first { cost.first } else { cost.queued }, None),
        }
    }

    /// Whether the engine polls too early for the end of `from`; if so, from when polling periods
    /// count.
    #[inline(always)]
    fn poll(
        &self,
        times: &PollTimes,
        from: &Ending,
        (tie, tolerance): (Tie, Span),
    ) -> Option<Instant> {
        // The commands of a stream are processed up to the first that has to wait, even while an
        // engine is still busy with the commands before. Nodes of a graph are processed one by one.
        let before = match tie {
            Tie::Graph => self.since.map(|_| self.last.time),
            _ => self.since,
        };
        let turn = before.map_or(self.arrival.1, |before| self.arrival.1.max(before));
        if from.time <= turn + tolerance {
            return None;
        }
        let here = (usize::from(self.device), self.kind);
        let after = match (tie, from.kind) {
            (Tie::Graph, Some(kind)) => {
                let first_out = &self.compiled.body.structure.arrivals.first_out;
                times.first_poll_of_node((kind, first_out.contains(&from.call)), self.kind)
            }
            _ => times.first_poll(self.engines.copies, here, self.arrival.1),
        };
        let first = turn + after;
        let is_found_meanwhile =
            self.since.is_some() && times.clock.next(first, from.time) <= self.last.time;
        (!is_found_meanwhile).then_some(first)
    }

    #[inline]
    fn is_elsewhere(&self, from: &Ending) -> bool {
        from.call != NONE && from.device != self.device
    }

    /// Makes the operation wait for the end of `from`, and `nanos` nanoseconds more.
    #[inline(always)]
    fn wait(&mut self, from: &Ending, nanos: f64, reason: Reason) {
        let mut after = from.time;
        if nanos > 0.0 {
            after = after + Span::from_nanos_f64(nanos * waits_for(after, self.arrival));
        }
        if after > self.time {
            self.time = after;
            self.cause = Cause { reason, before: from.call, ready: after };
        }
    }
}

/// The probability, 0 to 1, that the device polls too early for something that ends at `time`, and
/// so pays for waiting. It polls once, at some moment between the issue of the waiting operation
/// and its arrival. If it polls after the end, it finds the way clear.
#[inline]
fn waits_for(time: Instant, (issued, arrives): (Instant, Instant)) -> f64 {
    if time >= arrives {
        return 1.0;
    }
    time.since(issued).nanos_f64() / arrives.since(issued).nanos_f64()
}
