//! The pieces that every family is put together from.

use super::chunk::Chunk;
use super::strategy::Strategy;
use crate::kernels::{Grid, OwnKernel};
use crate::machine::{DeviceId, HostMemory, StreamId};
use crate::program::{
    Allocation, AllocationId, BufferId, Call, EventId, Place, Program, Slice, Step, StreamTraits,
};
use crate::scenario::{Home, Task, Workload};
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where a buffer's elements of one chunk are.
#[derive(Clone, Copy)]
pub(crate) struct Location {
    pub allocation: AllocationId,
    /// Which element of the batch lies at `offset`.
    pub first: u64,
    /// How many elements of the allocation lie in front of element `first`.
    pub offset: u64,
    /// Bytes of an element.
    pub size: u64,
}

impl Location {
    /// The place in memory of a slot where a chunk's part of a buffer begins.
    pub(super) fn for_chunk(self, chunk: &Chunk, id: BufferId) -> Self {
        Self { first: chunk.room[id].start, ..self }
    }

    pub fn slice(&self, range: &Range<u64>) -> Slice {
        Slice {
            allocation: self.allocation,
            offset: Bytes::new((self.offset + range.start - self.first) * self.size),
            length: Bytes::new((range.end - range.start) * self.size),
        }
    }
}

/// Where a task finds the elements of a chunk, and leaves its results.
pub(crate) struct TaskMemory {
    pub inputs: Vec<Location>,
    pub outputs: Vec<Location>,
    /// What iterations alternate with.
    pub spare: Option<Location>,
    /// Where a reduction combines blocks.
    pub workspace: Option<AllocationId>,
}

/// One set of working memory, enough for any chunk. Where its memory begins, the first element of
/// the chunk is.
#[derive(Clone)]
pub(super) struct Slot {
    place: Place,
    /// For each buffer, its memory in this slot; `None` if it lives elsewhere.
    pub(super) buffers: Vec<Option<Location>>,
    /// For each task, the second buffer that iterations of a stencil alternate with.
    pub(super) spares: Vec<Option<Location>>,
    /// For each task, where its reduction combines blocks.
    pub(super) workspaces: Vec<Option<AllocationId>>,
}

impl Slot {
    /// This slot, with the other's memory for buffers that have none in this one.
    pub fn or(self, other: Self) -> Self {
        let buffers = self.buffers.into_iter().zip(other.buffers);
        Self { buffers: buffers.map(|(mine, theirs)| mine.or(theirs)).collect(), ..self }
    }
}

pub struct Builder<'w> {
    pub workload: &'w Workload,
    pub strategy: Strategy,
    pub program: Program,
    /// For each buffer, the allocation of its home; `None` for scratch.
    pub(super) homes: Vec<Option<AllocationId>>,
    /// For each buffer, its copy on each device if all chunks of a batch read it whole, or all
    /// batches share it; empty for any other buffer.
    pub(super) shared: BTreeMap<BufferId, Vec<AllocationId>>,
    /// The device whose context is current when the next call is issued.
    current: DeviceId,
}

impl<'w> Builder<'w> {
    pub(crate) fn new(workload: &'w Workload, strategy: Strategy) -> Self {
        let mut builder = Self::without_homes(workload, strategy, own_kernels(&workload.tasks));
        for id in workload.buffer_ids() {
            let home = builder.add_home(id);
            builder.homes.push(home);
        }
        builder
    }

    /// A program without calls and memory so far.
    pub(crate) fn without_homes(
        workload: &'w Workload,
        strategy: Strategy,
        kernels: Vec<OwnKernel>,
    ) -> Self {
        let program = Program { kernels, ..Program::default() };
        let (homes, shared, current) = (Vec::new(), BTreeMap::new(), DeviceId::FIRST);
        Self { workload, strategy, program, homes, shared, current }
    }

    /// Makes the buffer's home known and, where the plan wants it pinned, pins it.
    fn add_home(&mut self, id: BufferId) -> Option<AllocationId> {
        let buffer = self.workload.buffer(id);
        // The CPU copies nothing from there, and new pages would have to be pinned in every pass.
        let stays_ashore = self.strategy.is_on_cpu() || self.workload.is_only_on_cpu(id);
        let stays_pageable = stays_ashore || buffer.fresh;
        let wanted = match stays_pageable {
            true => HostMemory::Pageable,
            false => self.strategy.held(self.workload, id),
        };
        let (place, pin) = match buffer.home {
            Home::Scratch => return None,
            Home::Device => (Place::FIRST_DEVICE, false),
            Home::Host(HostMemory::Pageable) => (Place::Host(wanted), wanted == HostMemory::Pinned),
            Home::Host(memory) => (Place::Host(memory), false),
        };
        let bytes = buffer.bytes(self.workload.batches);
        let home =
            self.add(Allocation { name: buffer.name.clone(), place, bytes, holds: Some(id) });
        if pin {
            let calls = match self.strategy.each_pass {
                true => &mut self.program.body,
                false => &mut self.program.setup,
            };
            calls.push(Call::Pin(home));
        }
        if buffer.fresh {
            self.program.body.push(Call::Renew(home));
        }
        Some(home)
    }

    fn add(&mut self, allocation: Allocation) -> AllocationId {
        self.program.allocations.push(allocation);
        AllocationId(self.program.allocations.len() - 1)
    }

    /// Adds memory for the plan's own use, allocated in the set-up.
    pub(crate) fn allocate(&mut self, name: String, place: Place, bytes: Bytes) -> AllocationId {
        let id = self.add(Allocation { name, place, bytes, holds: None });
        self.program.setup.push(Call::allocate(id));
        id
    }

    pub(super) fn stream(&mut self) -> StreamId {
        self.stream_on(DeviceId::FIRST)
    }

    pub(crate) fn stream_on(&mut self, device: DeviceId) -> StreamId {
        self.program.streams.push(StreamTraits { device, ..StreamTraits::default() });
        StreamId(self.program.streams.len() - 1)
    }

    /// Adds a call to the body. If the call is about another device than the one before, a call
    /// that makes that device's context current comes first.
    pub(crate) fn issue(&mut self, call: Call) {
        if let Some(stream) = call.stream() {
            self.make_current(self.program.device_of(stream));
        }
        self.program.body.push(call);
    }

    fn make_current(&mut self, device: DeviceId) {
        if std::mem::replace(&mut self.current, device) != device {
            self.program.body.push(Call::Use(device));
        }
    }

    /// Returns the plan after all calls are issued.
    pub(crate) fn finish(mut self) -> Program {
        self.make_current(DeviceId::FIRST);
        let pinned = self.program.body.iter().filter_map(Call::pinned);
        let unpin: Vec<Call> = pinned.map(Call::Unpin).collect();
        self.program.body.extend(unpin);
        self.program
    }

    /// Records a new event on a stream.
    pub(crate) fn record(&mut self, stream: StreamId) -> EventId {
        let event = EventId(self.program.events);
        self.program.events += 1;
        self.issue(Call::record(stream, event));
        event
    }

    /// Has a stream wait for an event.
    pub(crate) fn wait(&mut self, stream: StreamId, event: EventId) {
        self.issue(Call::wait(stream, event));
    }

    /// Has the host wait for a stream.
    pub(crate) fn synchronize(&mut self, stream: StreamId) {
        self.issue(Call::synchronize(stream));
    }

    /// Has the host wait for an event.
    pub(crate) fn synchronize_event(&mut self, event: EventId) {
        self.issue(Call::SynchronizeEvent { event });
    }

    /// Launches a kernel.
    pub(super) fn launch(&mut self, stream: StreamId, step: Step) {
        self.issue(Call::of_step(Some(stream), step));
    }

    /// Has the CPU compute.
    pub(super) fn compute(&mut self, step: Step) {
        self.issue(Call::of_step(None, step));
    }

    /// Allocates memory in `place` for every `wanted` buffer that is not at home there, large
    /// enough for any chunk (see [`room`]). That is enough for copies; kernels may need more, see
    /// [`Self::slot`].
    pub(super) fn storage(
        &mut self,
        room: &[u64],
        place: Place,
        wanted: impl Fn(BufferId) -> bool,
    ) -> Slot {
        let is_used = |id| matches!(place, Place::Host(_)) || !self.workload.is_only_on_cpu(id);
        let is_own = |id| {
            wanted(id) && is_used(id) && !self.at_home(id, place) && !self.shared.contains_key(&id)
        };
        let own: Vec<BufferId> = self.workload.buffer_ids().filter(|&id| is_own(id)).collect();
        self.storage_beside_homes(room, place, &own)
    }

    /// Allocates memory in `place` for some buffers, wherever they are at home.
    pub(super) fn storage_beside_homes(
        &mut self,
        room: &[u64],
        place: Place,
        own: &[BufferId],
    ) -> Slot {
        let mut buffers = vec![None; self.workload.buffers.len()];
        for &id in own {
            let buffer = self.workload.buffer(id);
            let size = buffer.element_type.size();
            let bytes = Bytes::new(room[id.0] * size);
            let allocation = self.allocate(buffer.name.clone(), place, bytes);
            buffers[id.0] = Some(Location { allocation, first: 0, offset: 0, size });
        }
        let tasks = self.workload.tasks.len();
        Slot { place, buffers, spares: vec![None; tasks], workspaces: vec![None; tasks] }
    }

    /// Allocates what [`Self::storage`] does, and the spare buffers and workspaces of kernels.
    pub(super) fn slot(&mut self, room: &[u64], place: Place) -> Slot {
        let slot = self.storage(room, place, |_| true);
        self.equipped(slot, room)
    }

    /// Adds the spare buffers and workspaces of kernels, where the slot is.
    pub(super) fn equipped(&mut self, slot: Slot, room: &[u64]) -> Slot {
        let is_on_device = matches!(slot.place, Place::Device(_));
        self.equipped_for(slot, room, |task| !(is_on_device && task.on_cpu))
    }

    /// Like [`Self::equipped`], for some tasks.
    pub(super) fn equipped_for(
        &mut self,
        mut slot: Slot,
        room: &[u64],
        is_meant: impl Fn(&Task) -> bool,
    ) -> Slot {
        let place = slot.place;
        for (index, task) in self.workload.tasks.iter().enumerate() {
            let Some((kernel, arguments)) = task.kernel.library().filter(|_| is_meant(task)) else {
                continue;
            };
            if task.iterations > 1 && !kernel.works_in_place() {
                let name = format!("{} spare", task.name);
                let bytes = Bytes::of_f32(room[task.output().0]);
                let allocation = self.allocate(name, place, bytes);
                let size = self.workload.buffer(task.output()).element_type.size();
                slot.spares[index] = Some(Location { allocation, first: 0, offset: 0, size });
            }
            if let (Place::Device(device), Some(elements)) =
                (place, Grid::workspace(kernel, arguments))
            {
                slot.workspaces[index] = Some(self.workspace(device, &task.name, elements));
            }
        }
        slot
    }

    pub(crate) fn workspace(
        &mut self,
        device: DeviceId,
        task: &str,
        elements: u64,
    ) -> AllocationId {
        let length = Bytes::of_f32(elements);
        let id = self.allocate(format!("{task} workspace"), Place::Device(device), length);
        let target = Slice { allocation: id, offset: Bytes::ZERO, length };
        let streams = &self.program.streams;
        let first = streams.iter().position(|stream| stream.device == device);
        let stream = StreamId(first.expect("streams come before slots"));
        self.program.setup.push(Call::Clear { stream, target });
        id
    }

    fn at_home(&self, id: BufferId, place: Place) -> bool {
        match self.workload.buffer(id).home {
            Home::Scratch => false,
            Home::Device => place == Place::FIRST_DEVICE,
            Home::Host(_) => matches!(place, Place::Host(_)) && !place.is_managed(),
        }
    }

    /// Where a chunk's part of a buffer is at home.
    pub(crate) fn home(&self, chunk: &Chunk, id: BufferId) -> Option<Location> {
        self.homes[id.0].map(|allocation| self.batch_of(allocation, chunk, id))
    }

    /// Where a chunk's batch of a buffer begins in memory that holds all batches of it.
    pub(crate) fn batch_of(
        &self,
        allocation: AllocationId,
        chunk: &Chunk,
        id: BufferId,
    ) -> Location {
        let buffer = self.workload.buffer(id);
        let (offset, size) = (buffer.start_of(chunk.batch), buffer.element_type.size());
        Location { allocation, first: 0, offset, size }
    }

    /// Where a device has its copy of a buffer that all chunks of its batch read whole, or that all
    /// batches share.
    pub(super) fn shared(&self, device: DeviceId, chunk: &Chunk, id: BufferId) -> Option<Location> {
        let allocation = *self.shared.get(&id)?.get(device.0)?;
        Some(self.batch_of(allocation, chunk, id))
    }

    /// Where kernels find a chunk's part of a buffer: in the slot, in a copy that all chunks
    /// share, or at home.
    pub(super) fn location(&self, slot: &Slot, chunk: &Chunk, id: BufferId) -> Location {
        match slot.buffers[id.0] {
            Some(location) => location.for_chunk(chunk, id),
            None => {
                let shared = match slot.place {
                    Place::Device(device) => self.shared(device, chunk, id),
                    Place::Host(_) => None,
                };
                let elsewhere = shared.or_else(|| self.home(chunk, id));
                elsewhere.expect("a buffer without a slot has a home")
            }
        }
    }
}

/// Refuses plans that would pin new pages in every pass: those of some fresh buffers.
pub(super) fn refuse_fresh(
    workload: &Workload,
    is_meant: impl Fn(BufferId) -> bool,
) -> Result<(), String> {
    let refused = workload.buffer_ids().find(|&id| workload.buffer(id).fresh && is_meant(id));
    let Some(name) = refused.map(|id| &workload.buffer(id).name) else { return Ok(()) };
    Err(format!("`{name}` is fresh memory, which every run would have to pin again"))
}

/// Takes the pins from memory that no copy uses: of buffers, and of the plan's `own`.
pub(crate) fn unpinned(mut program: Program, own: impl Iterator<Item = AllocationId>) -> Program {
    let [inward, outward] = program.copied();
    let is_copied = |id: AllocationId| inward[id.0] || outward[id.0];
    let idle = |call: &Call| call.pinned().filter(|&id| !is_copied(id));
    let unpinned: Vec<AllocationId> =
        program.setup.iter().filter_map(idle).chain(own.filter(|&id| !is_copied(id))).collect();
    for id in unpinned {
        program.allocations[id.0].place = Place::Host(HostMemory::Pageable);
    }
    program.setup.retain(|call| idle(call).is_none());
    program
}

/// The kernels of the user's own, in the order in which tasks first run them.
pub(crate) fn own_kernels(tasks: &[Task]) -> Vec<OwnKernel> {
    let mut kernels: Vec<OwnKernel> = Vec::new();
    for work in tasks.iter().filter_map(|task| task.kernel.own_work()) {
        if kernels.iter().all(|known| known.name != work.declared.kernel.name) {
            kernels.push(work.declared.kernel.clone());
        }
    }
    kernels
}

/// For each buffer, the most elements that any of the chunks needs at once.
pub(super) fn room(chunks: &[Chunk]) -> Vec<u64> {
    let ids = chunks.first().into_iter().flat_map(|chunk| chunk.room.iter().map(|(id, _)| id.0));
    let mut room = vec![0; ids.max().map_or(0, |last| last + 1)];
    for chunk in chunks {
        for (id, range) in chunk.room.iter() {
            let most = &mut room[id.0];
            *most = range.end.saturating_sub(range.start).max(*most);
        }
    }
    room
}
