//! Things to come back to at a known time.

use crate::units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in order of time; equal times in order of scheduling.
pub(super) struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    scheduled: u64,
}

struct Entry<E> {
    time: Instant,
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E: Copy> Queue<E> {
    /// Forgets everything but its memory.
    pub fn reset(&mut self) {
        self.heap.clear();
        self.scheduled = 0;
    }

    pub fn schedule(&mut self, time: Instant, event: E) {
        self.heap.push(Reverse(Entry { time, number: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// The time of the next event.
    pub fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse(entry)| entry.time)
    }

    /// Takes out the next event if it is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<E> {
        let Reverse(next) = self.heap.peek()?;
        if next.time > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.event)
    }
}
