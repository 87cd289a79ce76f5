//! The event queue.

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

impl<E> Queue<E> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    pub fn schedule(&mut self, time: Instant, event: E) {
        self.heap.push(Reverse(Entry { time, number: self.scheduled, event }));
        self.scheduled += 1;
    }

    pub fn next(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.time, entry.event))
    }
}
