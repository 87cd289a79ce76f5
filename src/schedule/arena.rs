//! One device allocation in which data has places for as long as it is needed.

use super::graph::BlockId;
use super::issue::OpId;

/// Where allocations begin on a device (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGNMENT: u64 = 256;

/// Memory with places for blocks.
pub(super) struct Arena {
    /// Sorted, without gaps between them.
    stretches: Vec<Stretch>,
    /// How much was ever used.
    pub peak: u64,
    /// Counts what was given back.
    returns: usize,
}

/// Some memory with one use.
struct Stretch {
    offset: u64,
    bytes: u64,
    content: Content,
}

enum Content {
    /// Free once these operations are done. The one that was given back first has been waited for
    /// longest.
    Free {
        after: Vec<OpId>,
        since: usize,
    },
    Block(BlockId),
    /// Memory that only the node being placed uses.
    Scratch,
}

/// A place, and the operations that have to be done before it is used.
pub(super) struct Room {
    pub offset: u64,
    pub after: Vec<OpId>,
}

impl Arena {
    pub fn new(bytes: u64) -> Self {
        let content = Content::Free { after: Vec::new(), since: 0 };
        let bytes = bytes / ALIGNMENT * ALIGNMENT;
        Self { stretches: vec![Stretch { offset: 0, bytes, content }], peak: 0, returns: 0 }
    }

    /// Whether there is room for so much.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.find(bytes.next_multiple_of(ALIGNMENT)).is_some()
    }

    /// The first and the last of some stretches side by side that are free and large enough: those
    /// that have been free for longest.
    fn find(&self, bytes: u64) -> Option<(usize, usize)> {
        let fits = |first: usize| {
            let (mut found, mut latest) = (0, 0);
            for (at, one) in self.stretches.iter().enumerate().skip(first) {
                let Content::Free { since, .. } = one.content else { return None };
                (found, latest) = (found + one.bytes, since.max(latest));
                if found >= bytes {
                    return Some((latest, first, at));
                }
            }
            None
        };
        let (_, first, last) = (0..self.stretches.len()).filter_map(fits).min()?;
        Some((first, last))
    }

    /// Takes room for a block, or for scratch memory: where memory has been free for longest.
    pub fn take(&mut self, bytes: u64, block: Option<BlockId>) -> Option<Room> {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let (first, last) = self.find(bytes)?;
        let mut after = Vec::new();
        let offset = self.stretches[first].offset;
        let end = self.stretches[last].offset + self.stretches[last].bytes;
        for one in &self.stretches[first..=last] {
            if let Content::Free { after: these, .. } = &one.content {
                after.extend(these);
            }
        }
        let content = block.map_or(Content::Scratch, Content::Block);
        let mut new = vec![Stretch { offset, bytes, content }];
        if let Content::Free { after, since } = &self.stretches[last].content
            && offset + bytes < end
        {
            let content = Content::Free { after: after.clone(), since: *since };
            new.push(Stretch { offset: offset + bytes, bytes: end - offset - bytes, content });
        }
        self.stretches.splice(first..=last, new);
        self.peak = self.peak.max(offset + bytes);
        Some(Room { offset, after })
    }

    /// Gives back what begins at an offset, to be used again after some operations.
    pub fn give_back(&mut self, offset: u64, after: Vec<OpId>) {
        self.returns += 1;
        let at = self.stretches.partition_point(|one| one.offset < offset);
        self.stretches[at].content = Content::Free { after, since: self.returns };
    }

    /// Which blocks have to leave so that there is room: those that are needed last (Belady, "A
    /// Study of Replacement Algorithms for a Virtual-Storage Computer", 1966), of those that lie
    /// side by side. `next_use` tells when a block is needed next, or nothing of one that has to
    /// stay.
    pub fn victims(
        &self,
        bytes: u64,
        next_use: impl Fn(BlockId) -> Option<usize>,
    ) -> Option<Vec<BlockId>> {
        let uses: Vec<Option<usize>> = self
            .stretches
            .iter()
            .map(|one| match one.content {
                Content::Free { .. } => Some(usize::MAX),
                Content::Block(block) => next_use(block),
                Content::Scratch => None,
            })
            .collect();
        let from = |first: usize| {
            let (mut found, mut soonest) = (0, usize::MAX);
            for (at, one) in self.stretches.iter().enumerate().skip(first) {
                soonest = soonest.min(uses[at]?);
                found += one.bytes;
                if found >= bytes {
                    return Some((soonest, std::cmp::Reverse(at - first), first, at));
                }
            }
            None
        };
        let (_, _, first, last) = (0..self.stretches.len()).filter_map(from).max()?;
        let blocks = self.stretches[first..=last].iter().filter_map(|one| match one.content {
            Content::Block(block) => Some(block),
            _ => None,
        });
        Some(blocks.collect())
    }
}
