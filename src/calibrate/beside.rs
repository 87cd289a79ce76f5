//! Copies beside work that uses memory, on the device or on the host.

use super::context::{MeasurementContext, clocked};
use super::probes::{LARGEST, POOL};
use crate::gpu::{GpuError, Stream};
use crate::host::Operand;
use crate::machine::Direction;
use crate::samples::{Load, STREAMING_KERNEL, STREAMING_TWIN};
use crate::units::{Bytes, Span};

impl MeasurementContext<'_> {
    /// Times of `count` copies and of as many runs of a load, started at once.
    pub fn beside(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        load: Load,
        count: u64,
    ) -> Result<[Span; 2], GpuError> {
        match load {
            Load::Kernel => self.beside_kernels(direction, bytes, count),
            Load::Cpu => self.beside_twins(direction, bytes, count),
        }
    }

    fn beside_kernels(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        count: u64,
    ) -> Result<[Span; 2], GpuError> {
        // Not the arrays that copies use.
        let [from, to] = [2, 3].map(|at| self.arrays[at].address());
        let kernel = self.streaming(from, to, Bytes::of_f32(STREAMING_KERNEL.1))?;
        let (copying, running) = (&self.streams[0], &self.streams[1]);
        self.blocker.hold(copying)?;
        copying.record(&self.ordering[0])?;
        running.wait(&self.ordering[0])?;
        copying.record(&self.marks[0])?;
        running.record(&self.marks[2])?;
        let issued = (0..count).try_for_each(|index| {
            self.copy_turn(copying, direction, bytes, index)?;
            // SAFETY: all memory belongs to the context and outlives the stream's work.
            unsafe { running.launch(&kernel) }
        });
        let marked = copying.record(&self.marks[1]).and(running.record(&self.marks[3]));
        self.blocker.end(&[copying, running])?;
        issued.and(marked)?;
        Ok([self.marks[1].since(&self.marks[0])?, self.marks[3].since(&self.marks[2])?])
    }

    /// Times of copies and of CPU twins. The copies are issued first, which takes next to
    /// none of their time.
    fn beside_twins(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        count: u64,
    ) -> Result<[Span; 2], GpuError> {
        let (variant, elements) = STREAMING_TWIN;
        let arguments = variant.arguments();
        let first = self.turn * count;
        let starts: Vec<usize> = (first..first + count)
            .map(|index| self.window(POOL, Bytes::of_f32(elements), index))
            .collect();
        let stream = &self.streams[0];
        stream.synchronize()?;
        stream.record(&self.marks[0])?;
        (0..count).try_for_each(|index| self.copy_turn(stream, direction, bytes, index))?;
        stream.record(&self.marks[1])?;
        let [input, .., out] = &mut self.pools;
        let time = clocked(|| {
            for start in starts {
                let range = start..start + elements as usize;
                let operand = Operand::Array(&input.as_slice()[range.clone()]);
                let output = &mut out.as_mut_slice()[range];
                self.team.run(variant.kernel, &arguments, &[operand], output, 0);
            }
            Ok::<_, GpuError>(())
        })?;
        self.streams[0].synchronize()?;
        Ok([self.marks[1].since(&self.marks[0])?, time])
    }

    fn copy_turn(
        &self,
        stream: &Stream,
        direction: Direction,
        bytes: Bytes,
        index: u64,
    ) -> Result<(), GpuError> {
        debug_assert!(bytes <= LARGEST);
        let ashore = self.pinned[direction as usize].as_mut_ptr();
        self.copy_at(stream, direction, ashore, bytes, index)
    }
}
