//! Copies of pinned memory, one way and both ways.

use super::context::{MeasurementContext, Piece};
use super::probes::LARGEST;
use crate::gpu::{GpuError, Stream};
use crate::machine::Direction;
use crate::samples::{Link, SHORT_COPY};
use crate::units::{Bytes, Span};

impl MeasurementContext<'_> {
    /// Device time of `count` copies in a row, each of a window of its own.
    pub fn copies(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        registered: bool,
        count: u64,
    ) -> Result<Span, GpuError> {
        let start = self.turn * count;
        let ashore =
            if registered { self.registered.as_mut_ptr() } else { self.pinned[0].as_mut_ptr() };
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
    ) -> Result<(), GpuError> {
        let (copying, start) = (&self.streams[stream], &self.marks[2 * stream]);
        self.copy_at(copying, direction, ashore, SHORT_COPY, 0)?;
        copying.record(start)?;
        places.try_for_each(|place| self.copy_at(copying, direction, ashore, bytes, place))
    }

    /// Device times of `count` copies in a row: first with a small kernel for each in
    /// another stream that waits for it, as in a pipeline, and then without. (Waits alone
    /// cost copies nothing.)
    pub fn copies_beside_kernels(
        &mut self,
        (direction, bytes): (Direction, Bytes),
        count: u64,
    ) -> Result<[Span; 2], GpuError> {
        let start = self.turn * count;
        let piece = self.piece(false)?;
        let beside = self.held(|context| {
            // Not the memory that is copied without kernels.
            let ashore = context.pinned[1].as_mut_ptr();
            context.row_beside(1, &piece, (direction, bytes), ashore, start..start + count)
        })?;
        self.streams[1].synchronize()?;
        Ok([beside, self.copies(direction, bytes, false, count)?])
    }

    /// Issues copies in a row to the first stream, and for each of them a kernel to the
    /// stream `running` that waits for it.
    fn row_beside(
        &self,
        running: usize,
        piece: &Piece,
        (direction, bytes): (Direction, Bytes),
        ashore: *mut f32,
        mut places: impl Iterator<Item = u64>,
    ) -> Result<(), GpuError> {
        let (copying, running) = (&self.streams[0], &self.streams[running]);
        self.row(0, (direction, bytes), ashore, std::iter::empty())?;
        places.try_for_each(|place| {
            let copied = &self.ordering[place as usize % self.ordering.len()];
            self.copy_at(copying, direction, ashore, bytes, place)?;
            copying.record(copied)?;
            running.wait(copied)?;
            self.issue(running, Link::Kernel, piece)
        })
    }

    /// Device times of `count` copies each way, both ways at once. Each way goes round
    /// `footprint`. A small kernel in a third stream waits for each copy to the device,
    /// because plans that copy both ways have kernels running.
    pub fn shared_copies(
        &mut self,
        (bytes, footprint): (Bytes, Bytes),
        count: u64,
    ) -> Result<[Span; 2], GpuError> {
        let (start, around) = (self.turn * count, footprint.get() / bytes.get());
        let places = (start..start + count).map(|index| index % around.max(1));
        let piece = self.piece(false)?;
        let [inward, outward, running] = [0, 1, 2].map(|at| &self.streams[at]);
        self.blocker.hold(inward)?;
        inward.record(&self.ordering[0])?;
        outward.wait(&self.ordering[0])?;
        let issued = Direction::BOTH.into_iter().try_for_each(|direction| {
            let side = direction as usize;
            let (row, ashore) = ((direction, bytes), self.pinned[side].as_mut_ptr());
            match direction {
                Direction::HostToDevice => {
                    self.row_beside(2, &piece, row, ashore, places.clone())?;
                }
                Direction::DeviceToHost => self.row(side, row, ashore, places.clone())?,
            }
            self.streams[side].record(&self.marks[2 * side + 1])
        });
        self.blocker.end(&[inward, outward, running])?;
        issued?;
        Ok([self.marks[1].since(&self.marks[0])?, self.marks[3].since(&self.marks[2])?])
    }

    /// Issues a copy between window `index` of host memory from `ashore` on and the
    /// direction's array.
    pub fn copy_at(
        &self,
        stream: &Stream,
        direction: Direction,
        ashore: *mut f32,
        bytes: Bytes,
        index: u64,
    ) -> Result<(), GpuError> {
        let offset = self.window(LARGEST, bytes, index);
        let array = &self.arrays[direction as usize];
        let there = array.address() + 4 * offset as u64;
        // SAFETY: the window lies within memory of the largest size on both sides, which
        // outlives the stream's work.
        unsafe {
            match direction {
                Direction::HostToDevice => stream.copy_in(ashore.add(offset), there, bytes),
                Direction::DeviceToHost => stream.copy_out(there, ashore.add(offset), bytes),
            }
        }
    }
}
