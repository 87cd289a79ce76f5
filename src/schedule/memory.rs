//! What lies where. On a device, that is one allocation, in which data has places for as long
//! as it is needed.

use super::graph::{BlockId, ItemId, TaskGraph};
use super::issue::OpId;
use crate::families::{Location, unpinned};
use crate::program::{AllocationId, Program};

/// What is in the memory of a device.
pub(super) struct OnDevice {
    pub arena: Arena,
    /// The arena's memory, once it is used.
    pub allocation: Option<AllocationId>,
    /// For each item, what is known of it there.
    residents: Vec<Option<Resident>>,
    /// For each block, its place in the arena.
    pub places: Vec<Option<Placed>>,
}

/// A block's place in the arena.
#[derive(Clone)]
pub(super) struct Placed {
    pub offset: u64,
    /// What has to be done before it is used.
    pub after: Vec<OpId>,
    /// What used it, of items that have left.
    pub left: Vec<OpId>,
    /// How many of its items are there.
    pub items: usize,
}

/// An item in the memory of a device.
#[derive(Clone)]
struct Resident {
    location: Location,
    /// Its block, unless it is of a buffer that lives on the device.
    block: Option<BlockId>,
    /// Whether what lies there is the item as it is now.
    is_valid: bool,
    /// The operations that brought it.
    ready: Vec<OpId>,
    /// The operations that used it since.
    uses: Vec<OpId>,
}

impl OnDevice {
    /// Nothing is there yet.
    pub fn new(graph: &TaskGraph<'_>, limit: u64) -> Self {
        Self {
            arena: Arena::new(limit),
            allocation: None,
            residents: vec![None; graph.items.len()],
            places: vec![None; graph.blocks.len()],
        }
    }

    /// A buffer that is at home on the device.
    pub fn live_there(&mut self, id: ItemId, location: Location, is_valid: bool) {
        self.settle(id, location, None);
        self.residents[id].iter_mut().for_each(|one| one.is_valid = is_valid);
    }

    pub fn settle(&mut self, id: ItemId, location: Location, block: Option<BlockId>) {
        let (ready, uses) = (Vec::new(), Vec::new());
        self.residents[id] = Some(Resident { location, block, is_valid: false, ready, uses });
    }

    pub fn has_place(&self, id: ItemId) -> bool {
        self.residents[id].is_some()
    }

    pub fn is_valid(&self, id: ItemId) -> bool {
        self.residents[id].as_ref().is_some_and(|one| one.is_valid)
    }

    /// The operations after which it is there.
    pub fn ready(&self, id: ItemId) -> &[OpId] {
        self.residents[id].as_ref().map_or(&[], |one| &one.ready)
    }

    /// All operations that have used it so far.
    pub fn used(&self, id: ItemId) -> impl Iterator<Item = OpId> {
        let there = self.residents[id].iter();
        there.flat_map(|one| one.uses.iter().chain(&one.ready)).copied()
    }

    /// # Panics
    /// If it has no place there.
    pub fn location(&self, id: ItemId) -> Location {
        self.residents[id].as_ref().expect("it has a place").location
    }

    pub fn used_by(&mut self, id: ItemId, op: OpId) {
        if let Some(resident) = &mut self.residents[id] {
            resident.uses.push(op);
        }
    }

    pub fn written_by(&mut self, id: ItemId, op: OpId) {
        if let Some(resident) = &mut self.residents[id] {
            resident.is_valid = true;
            resident.ready = vec![op];
            resident.uses.clear();
        }
    }

    /// Somebody else has written it.
    pub fn is_outdated(&mut self, id: ItemId) {
        if let Some(resident) = &mut self.residents[id] {
            resident.is_valid = false;
        }
    }

    /// Forgets an item. The place of its block is given back with the last of its items, to be used
    /// again after what has used it.
    pub fn leave(&mut self, id: ItemId) {
        let lives_there = |one: &Resident| one.block.is_none();
        let Some(Resident { block: Some(block), ready, uses, .. }) =
            self.residents[id].take_if(|one| !lives_there(one))
        else {
            return;
        };
        let Some(place) = &mut self.places[block] else { return };
        place.left.extend(uses.into_iter().chain(ready));
        place.items -= 1;
        if place.items == 0
            && let Some(Placed { offset, left, .. }) = self.places[block].take()
        {
            self.arena.give_back(offset, left);
        }
    }
}

/// What is in host memory.
pub(super) struct OnHost {
    /// For each item, whether it is there as it is now.
    there: Vec<bool>,
    /// For each item, the operation that brings it, if one does.
    brought_by: Vec<Option<OpId>>,
    /// For each block that is not at home on the host, its memory there.
    memory: Vec<Option<AllocationId>>,
}

impl OnHost {
    pub fn new(graph: &TaskGraph<'_>) -> Self {
        let items = graph.items.len();
        Self {
            there: vec![false; items],
            brought_by: vec![None; items],
            memory: vec![None; graph.blocks.len()],
        }
    }

    pub fn has(&mut self, id: ItemId, after: Option<OpId>) {
        self.there[id] = true;
        self.brought_by[id] = after;
    }

    pub fn is_outdated(&mut self, id: ItemId) {
        self.there[id] = false;
    }

    pub fn is_valid(&self, id: ItemId) -> bool {
        self.there[id]
    }

    /// The operation after which it is there, if one brings it.
    pub fn ready(&self, id: ItemId) -> Option<OpId> {
        self.brought_by[id]
    }

    pub fn memory(&mut self, id: BlockId, take: impl FnOnce() -> AllocationId) -> AllocationId {
        *self.memory[id].get_or_insert_with(take)
    }

    /// Takes the pins from memory that no copy uses.
    pub fn finish(self, program: Program) -> Program {
        unpinned(program, self.memory.into_iter().flatten())
    }
}

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
    Free { after: Vec<OpId>, since: usize },
    /// The items of a block.
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
        // Nothing has been free for longer than what was never used, which is the last.
        let last = self.stretches.len() - 1;
        let Stretch { bytes: left, ref content, .. } = self.stretches[last];
        if left >= bytes && matches!(content, Content::Free { since: 0, .. }) {
            return Some((last, last));
        }
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
