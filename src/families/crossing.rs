//! What crosses between host and device, and by which calls.

use super::builder::{Builder, Location};
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{BufferId, Call, CopyBy, Place, Rows};
use crate::scenario::{Buffer, Home, Needed, Workload};
use crate::units::Bytes;
use std::ops::Range;

/// Two places that hold the same buffer.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub from: Location,
    pub to: Location,
}

impl Builder<'_> {
    /// Buffers in host memory that are copied to the device chunk by chunk: what its tasks need as
    /// it was before them.
    pub(super) fn copied_in(&self) -> Vec<BufferId> {
        let is_first_read = |&id: &BufferId| {
            let mut of_device = self.workload.tasks.iter().filter(|task| !task.on_cpu);
            of_device.find(|task| task.uses(id)).is_some_and(|task| task.reads.contains(&id))
        };
        let chunked = |id: &BufferId| self.shared[id.0].is_empty();
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
        let all = (0..self.workload.buffers.len()).map(BufferId);
        all.filter(|&id| match self.workload.buffer(id).home {
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

    /// Issues copies of what has to cross of a range of a buffer, between two places that hold it.
    pub(super) fn cross(
        &mut self,
        stream: StreamId,
        direction: Direction,
        way: Way,
        id: BufferId,
        range: &Range<u64>,
    ) {
        self.copy_parts(stream, direction, way, &self.workload.crossing(id, range));
    }

    /// Issues a copy of each part of a buffer.
    pub(super) fn copy_parts(
        &mut self,
        stream: StreamId,
        direction: Direction,
        way: Way,
        parts: &[Needed],
    ) {
        for part in parts {
            self.issue(copy_of_part(stream, direction, way, part));
        }
    }
}

/// A copy of a part of a buffer.
pub(crate) fn copy_of_part(
    stream: StreamId,
    direction: Direction,
    way: Way,
    part: &Needed,
) -> Call {
    let Needed { row, rows, pitch, .. } = *part;
    let (all, size) = (part.span(), way.from.size);
    let (from, to) = (way.from.slice(&all), way.to.slice(&all));
    let apart = || Rows { row: Bytes::new(row * size), pitch: [Bytes::new(pitch * size); 2] };
    let rows = (rows != 1).then(apart);
    Call::Copy { by: CopyBy::crossing(stream, direction), from, to, rows }
}

/// Refuses plans in which the CPU would copy rows that lie apart.
pub(super) fn refuse_rows(
    workload: &Workload,
    is_meant: impl Fn(&Buffer) -> bool,
) -> Result<(), String> {
    let lies_apart = |buffer: &&Buffer| buffer.needed.is_some_and(|needed| needed.rows > 1);
    match workload.buffers.iter().filter(lies_apart).find(|buffer| is_meant(buffer)) {
        Some(buffer) => Err(format!(
            "`{}` is needed in separate rows, but the CPU copies contiguous ranges",
            buffer.name
        )),
        None => Ok(()),
    }
}
