//! Times in which something was busy.

use crate::units::{Instant, Span};

/// When something was busy: parts that do not touch, in order.
#[derive(Debug, Default)]
pub(super) struct Busy {
    pub parts: Vec<[Instant; 2]>,
}

impl Busy {
    /// From parts in order of their starts.
    pub fn of(parts: impl Iterator<Item = [Instant; 2]>) -> Self {
        let mut found: Vec<[Instant; 2]> = Vec::new();
        for [start, end] in parts.filter(|[start, end]| start < end) {
            match found.last_mut() {
                Some(last) if start <= last[1] => last[1] = last[1].max(end),
                _ => found.push([start, end]),
            }
        }
        Self { parts: found }
    }

    pub fn all(&self) -> Span {
        self.parts.iter().map(|&[start, end]| end.since(start)).sum()
    }

    /// The parts of a time in which it was not.
    pub fn gaps(&self, [begin, end]: [Instant; 2]) -> Vec<[Instant; 2]> {
        let starts = std::iter::once(begin).chain(self.parts.iter().map(|part| part[1]));
        let ends = self.parts.iter().map(|part| part[0]).chain([end]);
        let gaps = starts.zip(ends).filter(|(start, end)| start < end);
        gaps.map(|(start, end)| [start, end]).collect()
    }

    /// How much of a time it was busy.
    pub fn within(&self, [start, end]: [Instant; 2]) -> Span {
        let first = self.parts.partition_point(|part| part[1] <= start);
        let parts = self.parts[first..].iter().take_while(|part| part[0] < end);
        parts.map(|part| part[1].min(end).since(part[0].max(start))).sum()
    }
}
