//! Pageable copies, timed by the host's clock.

use super::context::MeasurementContext;
use crate::gpu::GpuError;
use crate::machine::Direction;
use crate::samples::{MOST_OF_ONE_CORE, SHORT_COPY};
use crate::units::{Bytes, Span};
use std::time::Instant;

impl MeasurementContext<'_> {
    /// Times from the call to its return, and from the call to the end of a
    /// synchronisation behind it. Consecutive copies use consecutive windows of the
    /// footprint.
    pub fn staged(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        footprint: Bytes,
    ) -> Result<[Span; 2], GpuError> {
        let offset = self.window(footprint, bytes, self.turn);
        let kernel = self.piece(false)?;
        let [ins, outs, others, _] = &mut self.pools;
        let pool = if direction == Direction::HostToDevice { ins } else { outs };
        let there = self.arrays[0].address();
        let stream = &self.streams[0];
        if direction == Direction::DeviceToHost && footprint <= bytes && bytes <= MOST_OF_ONE_CORE {
            // As in a plan that reads what it has received, the core's caches hold the
            // target, which slows the copy.
            // SAFETY: the window lies within the pool, which outlives the copy.
            unsafe { stream.copy_in(pool.as_ptr().add(offset), there, bytes)? };
        }
        // The thread makes other calls before, as in a plan: a single call made again and
        // again would find all its code and data in the core's L1 caches.
        // SAFETY: the memory belongs to the context and outlives the work, which is
        // waited for.
        unsafe {
            stream.launch(&kernel.kernel)?;
            if direction == Direction::HostToDevice {
                stream.copy_out(there, others.as_mut_ptr(), SHORT_COPY)?;
            }
        }
        stream.synchronize()?;
        let start = Instant::now();
        // SAFETY: the window lies within the pool, which outlives the copy.
        unsafe {
            match direction {
                Direction::HostToDevice => {
                    stream.copy_in(pool.as_ptr().add(offset), there, bytes)?;
                }
                Direction::DeviceToHost => {
                    stream.copy_out(there, pool.as_mut_ptr().add(offset), bytes)?;
                }
            }
        }
        let returned = start.elapsed();
        stream.synchronize()?;
        Ok([returned.into(), start.elapsed().into()])
    }
}
