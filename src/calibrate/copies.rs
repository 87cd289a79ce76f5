//! Copies of pinned memory, one way.

use super::context::{MeasurementContext, Piece, Timed};
use super::probe::{Counts, Probe};
use super::sizes::{LARGEST, MOST_STREAMS, Sizes};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuResult};
use crate::machine::{Direction, OperationKind};
use crate::samples::{Quantity, ROTATED, SHORT_COPY, is_of_rate};
use crate::units::Bytes;

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let mut probes = Vec::new();
    for direction in Direction::BOTH {
        probes.extend(sizes.copies().into_iter().map(|bytes| copy(direction, bytes)));
        let streams = [2, 4, MOST_STREAMS];
        probes.extend(streams.map(|streams| rotation(direction, (ROTATED, streams), false)));
    }
    probes
}

fn copy(direction: Direction, bytes: Bytes) -> Probe {
    let what = Quantity::Copy { direction, bytes };
    let probe = Probe::new(what, Counts::ByDuration).quickly_twice();
    let telling = [Bytes::kib(4), Bytes::mib(1), Bytes::mib(64)];
    let probe = probe.telling(telling.contains(&bytes));
    // Others on the link take what they need, which changes.
    if is_of_rate(bytes) { probe.visits(3).fewest_of_all(5) } else { probe }
}

pub(super) fn rotation(
    direction: Direction,
    (bytes, streams): (Bytes, usize),
    in_graph: bool,
) -> Probe {
    let what = Quantity::Rotation { direction, bytes, streams, in_graph };
    Probe::new(what, Counts::Both(2, 10))
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device time of `count` copies in a row, each of a window of its own.
    pub fn copies(&mut self, direction: Direction, bytes: Bytes, count: u64) -> Timed {
        let start = self.turn * count;
        let ashore = self.pinned[0].as_mut_ptr();
        self.held(|context| context.row(0, (direction, bytes), ashore, start..start + count))
    }

    /// Issues copies in a row to a held stream. The time starts behind a short copy in
    /// front of them. Without it, the time would include how long the engine takes to
    /// notice, at its next poll, that the stream was released.
    pub fn row(
        &self,
        stream: usize,
        (direction, bytes): (Direction, Bytes),
        ashore: *mut f32,
        mut places: impl Iterator<Item = u64>,
    ) -> GpuResult {
        let (copying, start) = (&self.streams[stream], &self.marks[2 * stream]);
        self.copy_at(copying, direction, ashore, SHORT_COPY, 0)?;
        copying.record(start)?;
        places.try_for_each(|place| self.copy_at(copying, direction, ashore, bytes, place))
    }

    /// Device time of `count` copies in each of several streams, or branches of a graph. The engine
    /// has to take the streams in turn, because a kernel lies behind each copy.
    pub fn rotation(
        &mut self,
        copy: (Direction, Bytes),
        streams: usize,
        in_graph: bool,
        count: u64,
    ) -> Timed {
        let piece = self.piece(false)?;
        if !in_graph {
            return self.held(|context| context.issue_turns(copy, streams, count, &piece));
        }
        let issue = || self.issue_turns(copy, streams, count, &piece);
        let graph = self.streams[0].capture(issue)?;
        self.replayed(&graph)
    }

    fn issue_turns(
        &self,
        (direction, bytes): (Direction, Bytes),
        streams: usize,
        count: u64,
        piece: &Piece<D>,
    ) -> GpuResult {
        let ashore = self.pinned[0].as_mut_ptr();
        self.streams[0].record(&self.ordering[0])?;
        for stream in &self.streams[1..streams] {
            stream.wait(&self.ordering[0])?;
        }
        for turn in 0..count {
            for (index, stream) in self.streams[..streams].iter().enumerate() {
                let place = turn * streams as u64 + index as u64;
                self.copy_at(stream, direction, ashore, bytes, place)?;
                self.issue(stream, OperationKind::Kernel, piece)?;
            }
        }
        self.rejoin(streams)
    }

    /// Issues a copy between window `index` of the direction's pinned memory and its array.
    pub fn copy_turn(
        &self,
        stream: &D::Stream,
        way: Direction,
        bytes: Bytes,
        index: u64,
    ) -> GpuResult {
        self.copy_at(stream, way, self.pinned[way as usize].as_mut_ptr(), bytes, index)
    }

    /// Issues a copy between window `index` of host memory from `ashore` on and the
    /// direction's array.
    pub fn copy_at(
        &self,
        stream: &D::Stream,
        direction: Direction,
        ashore: *mut f32,
        bytes: Bytes,
        index: u64,
    ) -> GpuResult {
        let offset = self.window(LARGEST, bytes, index);
        let array = &self.arrays[direction as usize];
        let there = array.address() + 4 * offset as u64;
        // SAFETY: the window lies within memory of the largest size on both sides, which
        // outlives the stream's work.
        unsafe { stream.copy_across(direction, (ashore.add(offset), there), bytes) }
    }
}
