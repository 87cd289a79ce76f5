//! When processors and links are taken, and how much of them.

use crate::units::{Instant, Span};
use std::ops::Range;

/// All the room of a processor or a link.
pub(super) const WHOLE: u32 = 1 << 12;

/// A time for which a part of a processor or a link is taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub start: Instant,
    pub end: Instant,
    /// How much is taken, in parts of [`WHOLE`].
    room: u32,
}

/// When a processor or a link is taken, sorted by when that begins.
#[derive(Clone)]
pub(super) struct Calendar {
    taken: Vec<Taken>,
    /// The longest time for which it was ever taken.
    longest: Span,
    /// A time for which all of it is taken without a gap. What is ready then comes behind it:
    /// thousands of copies that are ready at once are not gone through for each other.
    full: Range<Instant>,
}

impl Default for Calendar {
    fn default() -> Self {
        let full = Instant::START..Instant::START;
        Self { taken: Vec::new(), longest: Span::ZERO, full }
    }
}

impl Calendar {
    /// Takes so much room for a time, as soon as it is free that long, and no earlier than `ready`.
    /// Returns its place among the others, unless it takes no time.
    pub fn take(&mut self, ready: Instant, length: Span, room: u32) -> (Option<usize>, Taken) {
        let ready = if self.full.contains(&ready) { self.full.end } else { ready };
        let mut first = self.taken.partition_point(|one| one.start + self.longest <= ready);
        let mut start = ready;
        while let Some(later) = self.next_end(first, (start, start + length), WHOLE - room) {
            start = later;
            // What has ended is not looked at again.
            first += self.taken[first..].iter().take_while(|one| one.end <= start).count();
        }
        let taken = Taken { start, end: start + length, room };
        if length == Span::ZERO {
            return (None, taken);
        }
        self.longest = self.longest.max(length);
        let at = self.taken.partition_point(|one| one.start <= start);
        self.taken.insert(at, taken);
        if room == WHOLE {
            self.fill(&taken);
        }
        (Some(at), taken)
    }

    /// Notes that all of it is taken for a time.
    fn fill(&mut self, taken: &Taken) {
        if self.full.is_empty() {
            self.full = taken.start..taken.end;
        } else if taken.start == self.full.end {
            self.full.end = taken.end;
        } else if taken.end == self.full.start {
            self.full.start = taken.start;
        }
    }

    /// If more than so much is taken at some moment between two, when the first part of that
    /// becomes free.
    fn next_end(
        &self,
        first: usize,
        (start, end): (Instant, Instant),
        most: u32,
    ) -> Option<Instant> {
        let is_before = |one: &&Taken| one.start < end || one.start <= start;
        let there =
            || self.taken[first..].iter().take_while(is_before).filter(|one| one.end > start);
        let moments = std::iter::once(start).chain(there().map(|one| one.start.max(start)));
        for moment in moments {
            let now = || there().filter(|one| one.start <= moment && moment < one.end);
            if now().map(|one| one.room).sum::<u32>() > most {
                return now().map(|one| one.end).min();
            }
        }
        None
    }

    /// Gives back what was taken last, by its place.
    pub fn give_back(&mut self, at: usize) {
        let Taken { start, end, .. } = self.taken.remove(at);
        if start == self.full.start {
            self.full.start = end;
        } else if self.full.contains(&start) {
            self.full.end = start;
        }
    }

    pub fn last_end(&self) -> Option<Instant> {
        self.taken.last().map(|one| one.end)
    }
}
