//! One copy engine: the copies that it has been asked for, and the one under way; and how engines
//! of opposite directions, and kernels, slow it.

use crate::cost::{CallCost, CallId, ENGINES, EntryId, NONE, Work};
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// A copy that waits in the queue of a copy engine.
#[derive(Debug, Clone, Copy)]
pub(in crate::simulate) struct QueuedCopy {
    pub entry: EntryId,
    pub call: CallId,
    pub stream: u16,
    /// When it came to the engine.
    pub joined: Instant,
    /// The copy's time with nothing beside it.
    pub alone: Span,
}

/// A copy engine of a device.
pub(super) struct CopyEngine {
    /// The copies that the engine has been asked for.
    pub queue: VecDeque<QueuedCopy>,
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

    /// Asks the engine for a copy. Copies that come at the same moment are taken in the order of
    /// their calls.
    #[inline(always)]
    pub fn enqueue(&mut self, copy: QueuedCopy) {
        let mut place = self.queue.len();
        self.queue.push_back(copy);
        while place > 0
            && self.queue[place - 1].joined == copy.joined
            && self.queue[place - 1].call > copy.call
        {
            self.queue.swap(place - 1, place);
            place -= 1;
        }
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
        let stays = |copy: &QueuedCopy| self.serving.is_none_or(|serving| serving == copy.stream);
        let Some(first) = self.queue.front() else { return };
        let (mut place, mut is_same) = (0, stays(first));
        if !is_same && let Some(other) = self.queue.iter().position(stays) {
            (place, is_same) = (other, true);
        }
        let Some(next) = self.queue.remove(place) else { return };
        let QueuedCopy { entry, stream, alone, .. } = next;
        let switch = if is_same { 0.0 } else { self.left_of(switch, now) };
        let besides = switch + later(entry);
        self.started = now;
        self.go_on(now, now);
        (self.since, self.left) = (now, alone.nanos_f64() * self.slowdown + besides);
        (self.before, self.entry, self.serving) = (self.entry, entry, Some(stream));
        let is_usual = besides == 0.0 && self.slowdown == 1.0;
        self.end = now + if is_usual { alone } else { whole_nanos(self.left) };
    }
}

impl Default for CopyEngine {
    fn default() -> Self {
        let start = Instant::START;
        Self {
            queue: VecDeque::new(),
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

/// Delays copies that have just started and find the other direction busy. `before` says which
/// engines were busy before these copies started.
///
/// A copy waits for data that is ahead of what it asks for, so it waits no longer than there is
/// such data. On an H200, a copy to the host that was called for in the middle of one of 128 KiB to
/// the device read its first word 2.3, 1.5 and 0.7 us late with as much of the other's data to
/// come, and in time after the last of it. (Both directions are taken to be slowed alike.)
///
/// It is different where both engines go from copy to copy without a pause, or have the commands of
/// a graph to go through. They wait for each other whatever the copies carry, as they did when the
/// delay was measured: rows of 4 bytes to the host and of 28 KiB to the device took 1.5 and 3.0 us
/// a copy alone, and 3.5 us each beside each other.
pub(super) fn delay_beside_each_other(
    engines: &mut [CopyEngine; ENGINES],
    before: [bool; ENGINES],
) {
    let [down, up, _] = engines;
    if !(down.is_busy() && up.is_busy()) {
        return;
    }
    let are_in_rows = down.is_back_to_back() && up.is_back_to_back();
    let [of_down, of_up] = [down.data_left(), up.data_left()];
    let delay = |engine: &mut CopyEngine, was_busy: bool, others_data: f64| {
        if let (Some(flow), false) = (&mut engine.flow, was_busy) {
            let delay = if are_in_rows { flow.delay } else { flow.delay.min(others_data) };
            engine.left += delay;
            flow.delayed = delay;
        }
    };
    delay(down, before[0], of_up);
    delay(up, before[1], of_down);
}

impl CopyEngine {
    /// Lengthens the copy under way because kernels run beside it. It happens once for each copy
    /// and does not depend on its speed, and the extra time carries no data.
    #[inline]
    pub fn delay_beside_kernels(&mut self) {
        let Some(flow) = &mut self.flow else { return };
        let longer = std::mem::take(&mut flow.beside_kernels) * self.speed;
        let longer = (longer - flow.delayed).max(0.0);
        flow.fixed += longer;
        self.left += longer;
    }
}

/// A copy under way as a flow on its links.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyFlow {
    /// The longest delay that the copy gets if the other direction is busy when it starts, in
    /// nanoseconds at the copy's speed beside that direction.
    pub delay: f64,
    /// The part of `delay` that the copy was given.
    pub delayed: f64,
    /// Nanoseconds that the copy takes longer, at full speed, if kernels run while it is under way;
    /// 0 once it was given them. They are not added to the delay: the larger of both counts. (Rows
    /// of 36 KiB to an H100 took 3.2 us a copy, 4.2 beside as many to the host, 4.0 to 4.3 beside
    /// kernels and 4.5 beside both.)
    pub beside_kernels: f64,
    /// Nanoseconds for which the copy's data is on the link.
    pub data: f64,
    /// Nanoseconds that the copy still takes after the last of its data.
    pub fixed: f64,
    /// Whether the copy is a node of a graph. The engine then has the commands behind it in hand as
    /// well.
    pub in_graph: bool,
}

impl CopyFlow {
    /// A copy that an engine starts.
    #[inline(always)]
    pub fn of(cost: &CallCost) -> Self {
        let (delay, beside_kernels, slowdown, [data, fixed]) = match cost.work {
            Work::Copy { delay, beside_kernels, slowdown, alone, fixed, .. } => {
                let parts = [alone.saturating_sub(fixed), fixed].map(Span::nanos_f64);
                (delay, beside_kernels, slowdown, parts)
            }
            _ => (0.0, 0.0, 1.0, [0.0; 2]),
        };
        let (delay, delayed, in_graph) = (delay / slowdown, 0.0, cost.in_graph);
        Self { delay, delayed, beside_kernels, data, fixed, in_graph }
    }
}
