//! When an operation may start, by what it has to follow.

use super::looks::LookTimes;
use super::observer::Cause;
use super::operation::{Ending, NONE};
use super::program::{Price, Program, Tie};
use super::streams::Engines;
use crate::profile::OperationKind;
use crate::timeline::Reason;
use crate::units::{Instant, Span};

/// The start of an operation, as far as it is known.
pub(super) struct Start<'e> {
    pub kind: OperationKind,
    pub device: u16,
    pub engines: Engines<'e>,
    /// The first of its kind since its stream was last empty.
    pub is_first: bool,
    /// When it was issued, and when it reaches the device.
    pub arrival: (Instant, Instant),
    /// What was before it in its stream; if that was for the same engine, since when it was
    /// under way.
    pub last: &'e Ending,
    pub since: Option<Instant>,
    pub time: Instant,
    /// Its engine has looked before then, and looks again in periods that count from here.
    pub missed: Option<Instant>,
    pub cause: Cause,
}

impl Start<'_> {
    /// Puts it behind something else; `polling`: nanoseconds more.
    #[inline(always)]
    pub fn follow(
        &mut self,
        program: &Program<'_>,
        from: &Ending,
        tie: Tie,
        polling: f64,
        reason: Reason,
    ) {
        // What ends before the issue has nobody waiting for it.
        if from.time <= self.arrival.0 {
            return;
        }
        let mut nanos = polling;
        if program.takes_time[self.kind as usize][tie as usize] {
            let (takes, missed) = self.hand_over(program, from, tie, polling);
            self.missed = self.missed.max(missed);
            nanos = takes;
        }
        self.wait(from, nanos, reason);
    }

    /// What a hand-over takes; if its engine has looked too early for it, from when it looks
    /// again.
    #[inline(always)]
    fn hand_over(
        &self,
        program: &Program<'_>,
        from: &Ending,
        tie: Tie,
        polling: f64,
    ) -> (f64, Option<Instant>) {
        let prices = &program.hand_overs[self.kind as usize][tie as usize];
        let price = from.kind.and_then(|before| prices[before as usize].as_ref());
        let (nanos, missed) = match price {
            Some(price) => self.take_over(program, price, from, (tie, polling)),
            None => (polling, None),
        };
        let crossing = if self.is_elsewhere(from) { program.crossing } else { 0.0 };
        (nanos + crossing, missed)
    }

    /// The same where engines change on the same device.
    #[inline(always)]
    fn take_over(
        &self,
        program: &Program<'_>,
        price: &Price,
        from: &Ending,
        (tie, polling): (Tie, f64),
    ) -> (f64, Option<Instant>) {
        match (price.looks, &program.looks) {
            // What it looks at is its own device's.
            (Some(grace), Some(looks)) if !self.is_elsewhere(from) => {
                (0.0, self.look(looks, from, (tie, grace)))
            }
            // Where hand-overs have prices: an engine that does something goes on to what waits
            // for it when it is done, and that costs nothing extra.
            _ if self.engines.are_busy(usize::from(self.device), self.kind) => (polling, None),
            _ => (polling + if self.is_first { price.first } else { price.queued }, None),
        }
    }

    /// Whether its engine looks too early for something; from when it looks again, if so.
    #[inline(always)]
    fn look(&self, looks: &LookTimes, from: &Ending, (tie, grace): (Tie, Span)) -> Option<Instant> {
        // The commands of a stream are gone through up to the first that has to wait, while
        // an engine is still busy with what those before ask for. Nodes come one by one.
        let before = match tie {
            Tie::Graph => self.since.map(|_| self.last.time),
            _ => self.since,
        };
        let turn = before.map_or(self.arrival.1, |before| self.arrival.1.max(before));
        if from.time <= turn + grace {
            return None;
        }
        let here = (usize::from(self.device), self.kind);
        let after = match (tie, from.kind) {
            (Tie::Graph, Some(kind)) => looks.after_node((kind, from.item), self.kind),
            _ => looks.after(self.engines.copies, here, self.arrival.1),
        };
        let first = turn + after;
        let is_found_meanwhile =
            self.since.is_some() && looks.next(first, from.time) <= self.last.time;
        (!is_found_meanwhile).then_some(first)
    }

    fn is_elsewhere(&self, from: &Ending) -> bool {
        from.item != NONE && from.device != self.device
    }

    /// To go on from the other, which ends behind the issue, takes so many nanoseconds.
    #[inline(always)]
    fn wait(&mut self, from: &Ending, nanos: f64, reason: Reason) {
        let mut after = from.time;
        if nanos > 0.0 {
            after = after + Span::from_nanos_f64(nanos * waits_for(after, self.arrival));
        }
        if after > self.time {
            self.time = after;
            self.cause = Cause { reason, before: from.item, ready: after };
        }
    }
}

/// The chance, 0 to 1, that the device looks too early for something that ends
/// at `time`, and so has to wait for it, on behalf of what was issued before and
/// arrives at these times. It looks once between the two; whoever looks after
/// the end finds the way clear.
fn waits_for(time: Instant, (issued, arrives): (Instant, Instant)) -> f64 {
    if time >= arrives {
        return 1.0;
    }
    time.since(issued).nanos_f64() / arrives.since(issued).nanos_f64()
}
