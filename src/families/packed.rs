//! Small arrays packed into one transfer: the CPU copies them into one pinned block.

use super::ashore::Ashore;
use super::builder::{Builder, Location, Slot, room, unpinned};
use super::chunk::{Chunk, cut};
use super::dealt::Dealing;
use super::definition::{Definition, Division, Traits, Tries};
use super::on_cpu::OnCpu;
use super::shared::Shared;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{AllocationId, BufferId, Call, CopyBy, Place, Program, Slice, Threads};
use crate::scenario::{FamilyName, Home, Workload};
use crate::units::Bytes;

/// Arrays of up to so many bytes go in one block, others by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packed {
    pub up_to: Bytes,
}

const SIZES: [Bytes; 3] = [Bytes::kib(4), Bytes::kib(64), Bytes::mib(1)];
/// Blocks, each with a stream: the CPU packs one batch while others are on their way.
const RING: usize = 4;
/// What begins in a block begins at a multiple of this, as device memory does.
const ALIGNED: u64 = 256;

impl Definition for Packed {
    fn traits(&self) -> Traits {
        Traits {
            is_on_request: true,
            takes_pinned: true,
            pageable: Tries::Always,
            ..Traits::of(FamilyName::Packed)
        }
    }

    fn smallest() -> Self {
        Self { up_to: SIZES[0] }
    }

    /// The smallest of the sizes that pack the same arrays.
    fn choices(workload: &Workload, division: Division) -> Vec<Self> {
        if division != Division::Whole {
            return Vec::new();
        }
        let mut before = 0;
        let packs_more = |up_to: &Bytes| {
            let now = small(workload, *up_to).len();
            now > std::mem::replace(&mut before, now) && now > 1
        };
        SIZES.into_iter().filter(packs_more).map(|up_to| Self { up_to }).collect()
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let workload = builder.workload;
        let chunks = cut(workload, 1)?;
        let on_cpu = OnCpu::new(&mut builder, &chunks)?;
        let ring = RING.min(chunks.len());
        let streams: Vec<StreamId> = (0..ring).map(|_| builder.stream()).collect();
        let mut shared = Shared::new(&mut builder, Dealing::to_one_gpu(1), ring > 1);
        let room = room(&chunks);
        let mut small = small(workload, self.up_to);
        if builder.strategy.own_memory() == HostMemory::Pinned {
            // They land in pinned memory of their own.
            small.retain(|id| !workload.buffer(*id).fresh);
        }
        let pack = Pack::new(&mut builder, &small, ring)?;
        let is_apart = |id: BufferId| pack.offsets[id.0].is_none();
        let slot = |at: usize| {
            let apart = builder.storage(&room, Place::FIRST_DEVICE, is_apart);
            let all = pack.with_block(&builder, apart.clone(), pack.blocks[at]);
            [apart, builder.equipped(all, &room)]
        };
        let slots: Vec<[Slot; 2]> = (0..ring).map(slot).collect();
        let ashore = Ashore::new(&mut builder, 1, on_cpu);
        for (index, chunk) in chunks.iter().enumerate() {
            let at = index % ring;
            let (stream, [apart, slot], block) = (streams[at], &slots[at], pack.blocks[at]);
            if let Some(before) = index.checked_sub(ring) {
                builder.synchronize(stream);
                pack.unpack(&mut builder, &chunks[before], block);
            }
            ashore.prepare(&mut builder, chunk)?;
            pack.fill(&mut builder, chunk, block);
            shared.bring(&mut builder, stream, chunk);
            pack.send(&mut builder, stream, block);
            builder.copy_in(stream, apart, chunk);
            builder.launch_all(stream, slot, chunk)?;
            builder.copy_out(stream, apart, chunk, &ashore);
            pack.fetch(&mut builder, stream, block);
        }
        for index in chunks.len() - ring..chunks.len() {
            builder.synchronize(streams[index % ring]);
            pack.unpack(&mut builder, &chunks[index], pack.blocks[index % ring]);
        }
        ashore.bring_home(&mut builder, &chunks, &chunks)?;
        Ok(unpinned(builder.finish(), std::iter::empty()))
    }

    fn in_words(&self, workload: &Workload) -> Vec<String> {
        let count = small(workload, self.up_to).len();
        vec![
            format!(
                "One CPU thread packs inputs of up to {} each into a pinned block, which is \
                 copied to the GPU as a whole. Results of up to the same size come back in one \
                 block, and the thread unpacks them. {count} arrays are small enough.",
                self.up_to
            ),
            format!(
                "Larger arrays are copied separately. Batches are assigned to up to {RING} \
                 streams in turn."
            ),
        ]
    }

    fn parameters(&self) -> Option<String> {
        Some(format!("up to {}", self.up_to))
    }
}

/// The buffers of the host that are small enough, and that each batch has for itself.
fn small(workload: &Workload, up_to: Bytes) -> Vec<BufferId> {
    let is_small = |id: &BufferId| {
        let buffer = workload.buffer(*id);
        let [_, crosses] = workload.used_on_cpu_and_elsewhere(*id);
        let is_own = !buffer.shared && buffer.needed.is_none();
        matches!(buffer.home, Home::Host(_)) && crosses && is_own && buffer.bytes(1) <= up_to
    };
    workload.buffer_ids().filter(is_small).collect()
}

/// Memory of the host and of the device in which a batch has its small arrays.
#[derive(Clone, Copy)]
struct Block {
    on_host: AllocationId,
    on_device: AllocationId,
}

/// Blocks that hold small arrays side by side: first those that only come, then those that come and
/// go, then those that only go. So what comes is one range, and what goes another.
struct Pack {
    /// For each buffer, where it begins in a block.
    offsets: Vec<Option<Bytes>>,
    comes: Vec<BufferId>,
    goes: Vec<BufferId>,
    /// Where what comes ends, where what goes begins, and where all ends.
    comes_until: Bytes,
    goes_from: Bytes,
    end: Bytes,
    blocks: Vec<Block>,
}

impl Pack {
    fn new(builder: &mut Builder<'_>, small: &[BufferId], ring: usize) -> Result<Self, String> {
        if small.len() < 2 {
            return Err("fewer than two arrays are small enough".to_owned());
        }
        let workload = builder.workload;
        let is_small = |id: &BufferId| small.contains(id);
        let [comes, goes] = [builder.copied_in(), builder.copied_out()]
            .map(|all| all.into_iter().filter(is_small).collect::<Vec<_>>());
        let mut offsets = vec![None; workload.buffers.len()];
        let mut end = 0_u64;
        let mut place = |ids: &mut dyn Iterator<Item = BufferId>| {
            for id in ids {
                offsets[id.0] = Some(Bytes::new(end));
                end = (end + workload.buffer(id).bytes(1).get()).next_multiple_of(ALIGNED);
            }
            Bytes::new(end)
        };
        let both = |id: &BufferId| comes.contains(id) && goes.contains(id);
        let goes_from = place(&mut comes.iter().copied().filter(|id| !both(id)));
        let comes_until = place(&mut comes.iter().copied().filter(both));
        let end = place(&mut goes.iter().copied().filter(|id| !both(id)));
        let pinned = Place::Host(HostMemory::Pinned);
        let block = |_| Block {
            on_host: builder.allocate("packed on the host".to_owned(), pinned, end),
            on_device: builder.allocate("packed".to_owned(), Place::FIRST_DEVICE, end),
        };
        let blocks = (0..ring).map(block).collect();
        Ok(Self { offsets, comes, goes, comes_until, goes_from, end, blocks })
    }

    /// Where an array lies in a block.
    fn location(&self, builder: &Builder<'_>, block: AllocationId, id: BufferId) -> Location {
        let size = builder.workload.buffer(id).element_type.size();
        let offset = self.offsets[id.0].expect("it is packed").get() / size;
        Location { allocation: block, first: 0, offset, size }
    }

    /// Copies inputs into a block.
    fn fill(&self, builder: &mut Builder<'_>, chunk: &Chunk, block: Block) {
        for &id in &self.comes {
            let [home, here] = self.both_ends(builder, chunk, id, block);
            builder.issue(Call::copy(CopyBy::Host(Threads::One), home, here));
        }
    }

    /// Copies results from a block to where they belong.
    fn unpack(&self, builder: &mut Builder<'_>, chunk: &Chunk, block: Block) {
        for &id in &self.goes {
            let [home, here] = self.both_ends(builder, chunk, id, block);
            builder.issue(Call::copy(CopyBy::Host(Threads::One), here, home));
        }
    }

    /// An array at home, and in the block of a batch.
    fn both_ends(
        &self,
        builder: &Builder<'_>,
        chunk: &Chunk,
        id: BufferId,
        block: Block,
    ) -> [Slice; 2] {
        let home = builder.home(chunk, id).expect("the host is its home");
        let here = self.location(builder, block.on_host, id);
        [home, here].map(|one| one.slice(&(0..builder.workload.buffer(id).elements)))
    }

    fn send(&self, builder: &mut Builder<'_>, stream: StreamId, block: Block) {
        if !self.comes.is_empty() {
            let [from, to] = [block.on_host, block.on_device]
                .map(|allocation| range(allocation, Bytes::ZERO, self.comes_until));
            let direction = Direction::HostToDevice;
            builder.issue(Call::copy(CopyBy::crossing(stream, direction), from, to));
        }
    }

    fn fetch(&self, builder: &mut Builder<'_>, stream: StreamId, block: Block) {
        if !self.goes.is_empty() {
            let [from, to] = [block.on_device, block.on_host]
                .map(|allocation| range(allocation, self.goes_from, self.end));
            let direction = Direction::DeviceToHost;
            builder.issue(Call::copy(CopyBy::crossing(stream, direction), from, to));
        }
    }

    /// A slot in which kernels find the arrays of a block, too.
    fn with_block(&self, builder: &Builder<'_>, mut slot: Slot, block: Block) -> Slot {
        for id in builder.workload.buffer_ids().filter(|id| self.offsets[id.0].is_some()) {
            slot.buffers[id.0] = Some(self.location(builder, block.on_device, id));
        }
        slot
    }
}

fn range(allocation: AllocationId, from: Bytes, until: Bytes) -> Slice {
    Slice { allocation, offset: from, length: until - from }
}
