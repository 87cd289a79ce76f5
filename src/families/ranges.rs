//! Ranges of elements, by buffer.

use crate::program::BufferId;
use std::ops::{Index, IndexMut, Range};

/// A range of elements for each of some buffers. A part of a workload has ranges only of the
/// buffers that it uses: a thousand parts with ranges of all buffers would take gigabytes.
#[derive(Debug, Clone)]
pub(crate) struct Ranges(Vec<(BufferId, Range<u64>)>);

impl Ranges {
    /// `all`: in the order of the buffers.
    pub fn new(all: Vec<(BufferId, Range<u64>)>) -> Self {
        Self(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = (BufferId, &Range<u64>)> {
        self.0.iter().map(|(id, range)| (*id, range))
    }

    /// Where the range of a buffer is: at the buffer's own place if all buffers have one.
    fn place(&self, id: BufferId) -> usize {
        if self.0.get(id.0).is_some_and(|(other, _)| *other == id) {
            return id.0;
        }
        let found = self.0.binary_search_by_key(&id, |(other, _)| *other);
        found.expect("a chunk has ranges of the buffers that its tasks use")
    }
}

impl Index<BufferId> for Ranges {
    type Output = Range<u64>;

    fn index(&self, id: BufferId) -> &Range<u64> {
        &self.0[self.place(id)].1
    }
}

impl IndexMut<BufferId> for Ranges {
    fn index_mut(&mut self, id: BufferId) -> &mut Range<u64> {
        let place = self.place(id);
        &mut self.0[place].1
    }
}
