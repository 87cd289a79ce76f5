//! Memory by its addresses, as far as a recording has them.
//!
//! Ranges of copies that overlap, or that adjoin, are one block. A kernel uses the blocks that its
//! pointers point into. Device memory that the calls take is a block. A pointer to memory
//! that no copy uses makes a small block of its own, so that kernels with equal pointers stay in
//! order.

use crate::trace::{CallKind, MemoryKind, Trace, WorkKind};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a block of which only a pointer is known. Allocations are aligned to more.
const UNKNOWN: u64 = 256;

/// Memory that addresses are of: a GPU's, or the host's of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Device(u32),
    Host(MemoryKind),
}

#[derive(Debug, Clone, Copy)]
struct Block {
    end: u64,
    /// Blocks of a space are numbered from 1, by their addresses.
    number: usize,
}

/// The blocks that some calls use.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// For each space, the block that begins at an address.
    blocks: BTreeMap<Space, BTreeMap<u64, Block>>,
    used: BTreeSet<(Space, u64)>,
}

impl Blocks {
    /// The blocks that what was asked for by some calls uses. GPUs are numbered by their places in
    /// `gpus`.
    pub fn of(trace: &Trace, calls: &[usize], asked_for: &[Vec<usize>], gpus: &[u32]) -> Self {
        let mut ranges: BTreeMap<Space, Vec<[u64; 2]>> = BTreeMap::new();
        let mut add = |space, from: u64, bytes: u64| {
            let range = [from, from.saturating_add(bytes.max(1))];
            ranges.entry(space).or_default().push(range);
        };
        // The trace does not say on which GPU memory was taken.
        let taken = if gpus.len() == 1 { taken(trace, calls) } else { BTreeMap::new() };
        let mut edges = BTreeSet::new();
        for (address, bytes) in taken {
            add(Space::Device(0), address, bytes.get());
            edges.extend([address, address.saturating_add(bytes.get())]);
        }
        for &at in calls {
            for &work in &asked_for[at] {
                let work = &trace.work[work];
                let gpu = gpus.iter().position(|&gpu| gpu == work.stream.device);
                let gpu = gpu.unwrap_or_default() as u32;
                let device = Space::Device(gpu);
                match (&trace.calls[at].kind, &work.kind) {
                    (
                        CallKind::Copy { places, .. },
                        WorkKind::Copy { from, to, bytes: Some(bytes) },
                    ) => {
                        for (address, kind) in [(places.from, *from), (places.to, *to)] {
                            let space = space(kind, gpu);
                            address.into_iter().for_each(|one| add(space, one, bytes.get()));
                        }
                    }
                    (
                        CallKind::Clear { target: Some(target), .. },
                        WorkKind::Clear { bytes: Some(bytes) },
                    ) => add(device, *target, bytes.get()),
                    (CallKind::Launch { pointers, .. }, WorkKind::Kernel { .. }) => {
                        pointers.iter().for_each(|&one| add(device, one, UNKNOWN));
                    }
                    _ => {}
                }
            }
        }
        let blocks = ranges.into_iter().map(|(space, ranges)| {
            let is_edge = |address| space == Space::Device(0) && edges.contains(&address);
            (space, merged(ranges, is_edge))
        });
        let blocks = blocks.collect();
        Self { blocks, used: BTreeSet::new() }
    }

    /// Some bytes from an address on, as a scenario names them.
    pub fn range(&mut self, space: Space, address: u64, bytes: Bytes) -> Option<String> {
        let (begin, end) = self.block(space, address)?;
        let from = address - begin;
        let to = from.checked_add(bytes.get()).filter(|&to| begin + to <= end)?;
        Some(format!("{}[{from}..{to}]", self.name(space, begin)))
    }

    /// The block that a pointer points into.
    pub fn whole(&mut self, space: Space, pointer: u64) -> Option<String> {
        let (begin, _) = self.block(space, pointer)?;
        Some(self.name(space, begin))
    }

    /// The block that a range fills, if there is one.
    pub fn filled_by(&mut self, space: Space, address: u64, bytes: Bytes) -> Option<String> {
        let block = self.block(space, address)?;
        (block == (address, address.saturating_add(bytes.get()))).then(|| self.name(space, address))
    }

    fn block(&mut self, space: Space, address: u64) -> Option<(u64, u64)> {
        let found = self.bounds(space, address)?;
        self.used.insert((space, found.0));
        Some(found)
    }

    /// Where the block around an address begins and ends.
    pub fn bounds(&self, space: Space, address: u64) -> Option<(u64, u64)> {
        let blocks = self.blocks.get(&space)?;
        let (&begin, block) = blocks.range(..=address).next_back()?;
        (address < block.end).then_some((begin, block.end))
    }

    fn name(&self, space: Space, begin: u64) -> String {
        let number = self.blocks[&space][&begin].number;
        match space {
            Space::Device(0) => format!("device-{number}"),
            Space::Device(gpu) => format!("device-gpu{gpu}-{number}"),
            Space::Host(kind) => format!("{}-{number}", kind.name()),
        }
    }

    /// The tables that declare the blocks that were named.
    pub fn tables(&self) -> impl Iterator<Item = String> {
        self.used.iter().map(|&(space, begin)| {
            let (name, size) = (self.name(space, begin), self.blocks[&space][&begin].end - begin);
            let (kind, gpu) = match space {
                Space::Device(0) => ("device", String::new()),
                Space::Device(gpu) => ("device", format!(", gpu = {gpu}")),
                Space::Host(kind) => (kind.name(), String::new()),
            };
            format!("{{ name = \"{name}\", kind = \"{kind}\", size = \"{size} B\"{gpu} }}")
        })
    }
}

/// Where memory of a kind is.
pub(super) const fn space(kind: MemoryKind, device: u32) -> Space {
    match kind {
        MemoryKind::Pinned => Space::Host(MemoryKind::Pinned),
        _ if kind.is_on_host() => Space::Host(MemoryKind::Pageable),
        _ => Space::Device(device),
    }
}

/// Memory that calls take, by its address. Memory of several sizes at one address is left out.
pub(super) fn taken(trace: &Trace, calls: &[usize]) -> BTreeMap<u64, Bytes> {
    let mut found: BTreeMap<u64, Option<Bytes>> = BTreeMap::new();
    for &at in calls {
        if let CallKind::Allocate { memory: MemoryKind::Device, address, bytes, .. } =
            trace.calls[at].kind
        {
            let size = found.entry(address).or_insert(Some(bytes));
            *size = size.filter(|size| *size == bytes);
        }
    }
    found.into_iter().filter_map(|(address, size)| Some((address, size?))).collect()
}

/// Ranges as blocks, one of those that overlap or adjoin. Nothing is joined at an edge of memory
/// that was taken by itself.
fn merged(mut ranges: Vec<[u64; 2]>, is_edge: impl Fn(u64) -> bool) -> BTreeMap<u64, Block> {
    ranges.sort_unstable();
    let mut found: Vec<[u64; 2]> = Vec::new();
    for [from, to] in ranges {
        match found.last_mut() {
            Some(last) if from < last[1] || (from == last[1] && !is_edge(from)) => {
                last[1] = last[1].max(to)
            }
            _ => found.push([from, to]),
        }
    }
    found.into_iter().zip(1..).map(|([from, end], number)| (from, Block { end, number })).collect()
}
