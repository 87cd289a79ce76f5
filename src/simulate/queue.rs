//! Events, each at a known time.

use crate::units::Instant;

/// Events in order of time, and at equal times in order of scheduling.
///
/// There are never many of them: one or two for each stream, and one for the host. So this is a
/// sorted list with the next event at its end, which for a dozen events is faster than a heap.
pub(super) struct Queue<E> {
    events: Vec<(Instant, E)>,
}

impl<E: Copy> Queue<E> {
    pub const fn new() -> Self {
        Self { events: Vec::new() }
    }

    #[inline]
    pub fn schedule(&mut self, time: Instant, event: E) {
        let mut place = self.events.len();
        self.events.push((time, event));
        while place > 0 && self.events[place - 1].0 <= time {
            self.events.swap(place - 1, place);
            place -= 1;
        }
    }

    /// The time of the next event.
    #[inline]
    pub fn next(&self) -> Instant {
        self.events.last().map_or(Instant::NEVER, |&(time, _)| time)
    }

    /// Takes out the next event if it is due.
    #[inline(always)]
    pub fn pop_due(&mut self, now: Instant) -> Option<E> {
        let &(time, event) = self.events.last()?;
        if time > now {
            return None;
        }
        self.events.pop();
        Some(event)
    }
}
