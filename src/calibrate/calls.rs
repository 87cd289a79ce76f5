//! Host costs of API calls, and round trips to an idle device.

use super::chains::CHAIN_BYTES;
use super::rig::{Rig, clocked};
use crate::gpu::{Blocker, GpuError};
use crate::samples::{Link, TimedCall};
use crate::units::Span;

impl Rig<'_> {
    /// Host time of `count` calls to a stream that is held, so that none of
    /// them waits for the device.
    pub fn call(&mut self, call: TimedCall, count: u64) -> Result<Span, GpuError> {
        let tiny = self.tiny()?;
        if call == TimedCall::Synchronize {
            self.streams[0].synchronize()?;
            return clocked(|| (0..count).try_for_each(|_| self.streams[0].synchronize()));
        }
        self.streams[1].record(&self.ordering[0])?;
        self.blocker.hold(&self.streams[0])?;
        let stream = &self.streams[0];
        let (array, from, to) =
            (self.arrays[0].address(), self.pinned[0].as_mut_ptr(), self.pinned[1].as_mut_ptr());
        let time = clocked(|| {
            (0..count).try_for_each(|_| match call {
                // SAFETY: all memory is the rig's and outlives the stream's work.
                TimedCall::Launch => unsafe { stream.launch(&tiny) },
                TimedCall::CopyIn => unsafe { stream.copy_in(from, array, CHAIN_BYTES) },
                TimedCall::CopyOut => unsafe { stream.copy_out(array, to, CHAIN_BYTES) },
                TimedCall::Clear => unsafe { stream.clear(array, CHAIN_BYTES) },
                TimedCall::Record => stream.record(&self.ordering[1]),
                TimedCall::Wait => stream.wait(&self.ordering[0]),
                TimedCall::Synchronize => stream.synchronize(),
            })
        });
        self.blocker.release();
        Blocker::finish(stream)?;
        time
    }

    /// Host time from issuing one operation to the return of a synchronisation.
    pub fn round_trip(&mut self, link: Link) -> Result<Span, GpuError> {
        let tiny = self.tiny()?;
        self.streams[0].synchronize()?;
        clocked(|| {
            self.issue(&self.streams[0], link, &tiny)?;
            self.streams[0].synchronize()
        })
    }
}
