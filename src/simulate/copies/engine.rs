//! One copy engine: the copies that it has been asked for, and the one under way.

use super::flow::CopyFlow;
use crate::cost::{EntryId, NONE};
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// A copy that waits in the queue of a copy engine.
#[derive(Debug, Clone, Copy)]
pub(in crate::simulate) struct QueuedCopy {
    pub entry: EntryId,
    pub stream: u16,
    /// The copy's time with nothing beside it.
    pub alone: Span,
}

/// A copy engine of a device.
pub(super) struct CopyEngine {
    /// The copies that the engine has been asked for: the first in line, and those behind it.
    pub first: Option<QueuedCopy>,
    pub rest: VecDeque<QueuedCopy>,
    /// The stream that the engine stays with, the copy under way or finished last, and the copy
    /// before that.
    pub serving: Option<u16>,
    pub entry: EntryId,
    pub before: EntryId,
    pub started: Instant,
    /// Since when the engine has gone from copy to copy without a pause, and until when.
    pub row: [Instant; 2],
    /// When the copy under way ends if nothing else happens; [`Instant::NEVER`] if the engine is
    /// idle.
    pub end: Instant,
    /// Used where copies take other than their time alone. At the time `since`, `left` nanoseconds
    /// of the copy were left, counted with nothing in the other direction; `speed` of them pass per
    /// nanosecond.
    pub left: f64,
    pub since: Instant,
    pub speed: f64,
    /// How many times longer a copy that starts now takes because of kernels that wait, and of the
    /// CPU.
    pub slowdown: f64,
    /// The copy under way as a flow, where copies slow each other.
    pub flow: Option<CopyFlow>,
}

impl CopyEngine {
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.end != Instant::NEVER
    }

    /// Notes that a copy is under way now, and at least until `until`.
    #[inline]
    pub fn go_on(&mut self, now: Instant, until: Instant) {
        if self.row[1] < now && !self.is_busy() {
            self.row[0] = now;
        }
        self.row[1] = self.row[1].max(until);
    }

    /// Whether the engine came to the copy under way directly from another one, or has more nodes
    /// of a graph in hand. (Staging pageable memory extends the row, too, but never while this
    /// engine copies.)
    #[inline]
    pub fn is_back_to_back(&self) -> bool {
        self.row[0] < self.started || self.flow.is_some_and(|flow| flow.in_graph)
    }

    /// Nanoseconds for which data of the copy under way was still to come at the last change.
    #[inline]
    pub fn data_left(&self) -> f64 {
        self.flow.map_or(0.0, |CopyFlow { data, fixed, .. }| (self.left - fixed).clamp(0.0, data))
    }

    #[inline]
    pub fn left_at(&self, now: Instant) -> f64 {
        self.left - now.since(self.since).nanos_f64() * self.speed
    }

    /// Works out when the copy under way ends.
    #[inline]
    pub fn predict_end(&mut self) {
        // Avoids the division in the usual case, since it would cost as much as everything else
        // here.
        let left = if self.speed == 1.0 { self.left } else { self.left / self.speed };
        self.end = self.since + whole_nanos(left);
    }

    #[inline]
    fn stays_with(&self, copy: &QueuedCopy) -> bool {
        self.serving.is_none_or(|serving| serving == copy.stream)
    }

    /// Nanoseconds that are left of a change of streams, which also passes while the engine is
    /// idle. (Staging pageable memory counts as being busy, too, but never goes on while this
    /// engine copies.)
    #[inline]
    fn left_of(&self, switch: f64, now: Instant) -> f64 {
        (switch - now.since(self.row[1].min(now)).nanos_f64()).max(0.0)
    }

    /// Starts the next copy, if there is one: of the stream that the engine stays with, or else the
    /// one that has waited longest. `later`: nanoseconds that a copy takes longer for what its data
    /// is.
    #[inline(always)]
    pub fn start_next(&mut self, now: Instant, switch: f64, later: impl Fn(EntryId) -> f64) {
        if !self.rest.is_empty() {
            self.let_pass();
        }
        let Some(first) = &self.first else { return };
        let &QueuedCopy { entry, stream, alone } = first;
        let switch = if self.stays_with(first) { 0.0 } else { self.left_of(switch, now) };
        let besides = switch + later(entry);
        self.first = None;
        if !self.rest.is_empty() {
            self.first = self.rest.pop_front();
        }
        self.started = now;
        self.go_on(now, now);
        (self.since, self.left) = (now, alone.nanos_f64() * self.slowdown + besides);
        (self.before, self.entry, self.serving) = (self.entry, entry, Some(stream));
        let is_usual = besides == 0.0 && self.slowdown == 1.0;
        self.end = now + if is_usual { alone } else { whole_nanos(self.left) };
    }

    /// Moves the first copy of the stream that the engine stays with ahead of the others.
    #[cold]
    #[inline]
    fn let_pass(&mut self) {
        if let Some(first) = self.first
            && !self.stays_with(&first)
            && let Some(same) = self.rest.iter().position(|copy| self.stays_with(copy))
        {
            self.first = self.rest.remove(same);
            self.rest.push_front(first);
        }
    }
}

impl Default for CopyEngine {
    fn default() -> Self {
        let start = Instant::START;
        Self {
            first: None,
            rest: VecDeque::new(),
            serving: None,
            entry: NONE,
            before: NONE,
            started: start,
            row: [start; 2],
            end: Instant::NEVER,
            left: 0.0,
            since: start,
            speed: 1.0,
            slowdown: 1.0,
            flow: None,
        }
    }
}

/// The rounding error that a quotient may have, in nanoseconds.
const ROUNDING: f64 = 1e-3;

/// Rounds up to a whole number of nanoseconds, but for a rounding error.
#[inline]
fn whole_nanos(nanos: f64) -> Span {
    Span::from_nanos_f64((nanos + (0.5 - ROUNDING)).max(0.0))
}
