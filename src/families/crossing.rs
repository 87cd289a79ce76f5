//! What crosses between host and device, and by which calls.

use super::ashore::Ashore;
use super::builder::{Builder, Location, Slot};
use super::chunk::Chunk;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{BufferId, Call, CopyBy, Place, Rows};
use crate::scenario::{Buffer, Home, Needed, Workload};
use crate::units::Bytes;
use std::ops::Range;

/// Copies by the engine of a stream's device between two places that hold the same buffer.
#[derive(Clone, Copy)]
pub(crate) struct Crossing {
    stream: StreamId,
    direction: Direction,
    from: Location,
    to: Location,
}

impl Crossing {
    /// From the host to the stream's device.
    pub const fn inward(stream: StreamId, from: Location, to: Location) -> Self {
        Self { stream, direction: Direction::HostToDevice, from, to }
    }

    /// From the stream's device to the host.
    pub const fn outward(stream: StreamId, from: Location, to: Location) -> Self {
        Self { stream, direction: Direction::DeviceToHost, from, to }
    }

    /// The copy of a part of the buffer.
    pub fn of_part(&self, part: &Needed) -> Call {
        let Needed { row, rows, pitch, .. } = *part;
        let (all, size) = (part.span(), self.from.size);
        let (from, to) = (self.from.slice(&all), self.to.slice(&all));
        let apart = || Rows { row: Bytes::new(row * size), pitch: [Bytes::new(pitch * size); 2] };
        let rows = (rows != 1).then(apart);
        Call::Copy { by: CopyBy::crossing(self.stream, self.direction), from, to, rows }
    }
}

impl Builder<'_> {
    /// Buffers in host memory that are copied to the device chunk by chunk: what its tasks need as
    /// it was before them.
    pub(super) fn copied_in(&self) -> Vec<BufferId> {
        let is_first_read = |&id: &BufferId| self.workload.is_input_of_gpu(id);
        let chunked = |id: &BufferId| !self.shared.contains_key(id);
        self.on_host().filter(is_first_read).filter(chunked).collect()
    }

    /// Buffers in host memory that are copied back from the device: what its tasks write.
    pub(crate) fn copied_out(&self) -> Vec<BufferId> {
        let writer = |id| self.workload.writer_of(id).map(|task| self.workload.task(task));
        self.on_host().filter(|&id| writer(id).is_some_and(|task| !task.on_cpu)).collect()
    }

    /// Results that are at home on the host, whoever computes them.
    pub(super) fn results_on_host(&self) -> Vec<BufferId> {
        self.on_host().filter(|&id| self.workload.is_output(id)).collect()
    }

    /// Buffers that are at home on the host, also intermediates that the CPU uses.
    fn on_host(&self) -> impl Iterator<Item = BufferId> {
        self.workload.buffer_ids().filter(|&id| match self.workload.buffer(id).home {
            Home::Host(_) => true,
            Home::Device => false,
            Home::Scratch => self.homes[id.0].is_some(),
        })
    }

    /// Takes host memory for all batches of an intermediate that the CPU uses, maybe alone.
    pub(super) fn house(&mut self, id: BufferId) {
        let buffer = self.workload.buffer(id);
        let memory = match self.workload.is_only_on_cpu(id) {
            true => HostMemory::Pageable,
            false => self.strategy.own_memory(),
        };
        let place = Place::Host(memory);
        let (name, bytes) = (buffer.name.clone(), buffer.bytes(self.workload.batches));
        self.homes[id.0] = Some(self.allocate(name, place, bytes));
    }

    /// Issues copies of what has to cross of a range of a buffer.
    pub(super) fn cross(&mut self, crossing: Crossing, id: BufferId, range: &Range<u64>) {
        self.copy_parts(crossing, &self.workload.crossing(id, range));
    }

    /// Issues a copy of each part of a buffer.
    pub(super) fn copy_parts(&mut self, crossing: Crossing, parts: &[Needed]) {
        parts.iter().for_each(|part| self.issue(crossing.of_part(part)));
    }

    /// Copies a chunk's inputs to the GPU, but for those that kernels use where they are.
    pub(super) fn copy_in(&mut self, stream: StreamId, slot: &Slot, chunk: &Chunk) {
        for id in self.copied_in() {
            let home = self.home(chunk, id).expect("the host is its home");
            let here = self.location(slot, chunk, id);
            // What all batches share stays once it is there.
            let is_there = chunk.batch > 0 && self.workload.buffer(id).shared;
            if here.allocation != home.allocation && !is_there {
                self.cross(Crossing::inward(stream, home, here), id, &chunk.needs[id]);
            }
        }
    }

    /// Copies a chunk's results to the host, but for those that kernels have written there.
    pub(super) fn copy_out(&mut self, stream: StreamId, slot: &Slot, chunk: &Chunk, to: &Ashore) {
        for id in self.copied_out() {
            let home = self.home(chunk, id).expect("the host is its home");
            let target = to.target(self, chunk, id).unwrap_or(home);
            let here = self.location(slot, chunk, id);
            if here.allocation != target.allocation {
                self.cross(Crossing::outward(stream, here, target), id, &chunk.owns[id]);
            }
        }
    }
}

/// Refuses plans in which the CPU would copy rows that lie apart.
pub(super) fn refuse_rows(
    workload: &Workload,
    is_meant: impl Fn(&Buffer) -> bool,
) -> Result<(), String> {
    let lies_apart = |buffer: &&Buffer| buffer.needed.is_some_and(|needed| needed.rows > 1);
    let mut apart = workload.buffers.iter().filter(lies_apart);
    let Some(Buffer { name, .. }) = apart.find(|buffer| is_meant(buffer)) else { return Ok(()) };
    Err(format!(
        "only separate rows of `{name}` are needed, but the CPU can only copy contiguous ranges"
    ))
}
