//! A kernel that holds a stream.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use super::kernels::start;
use super::memory::PinnedMemory;
use super::stream::Stream;
use crate::kernels::Grid;
use crate::units::Bytes;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const ONE_THREAD: Grid = Grid { threads_per_block: 1, ..Grid::ONE_BLOCK };

/// Holds a stream until it is released. One block spins on a word of host memory.
///
/// # Motivation
///
/// A short operation is over before the host has issued the next one: events
/// around a chain of them would time the host. Behind a held stream the chain
/// queues up, and then runs as fast as the device can.
///
/// # Pattern
///
/// [`Blocker::hold`] a stream, record an event, issue the chain, record another,
/// and [`Blocker::end`] it: that releases the stream, waits, and says if the hold
/// lasted. Between hold and release, nothing may be called that waits for the
/// device. Where other streams are to start with the held one, they wait for an
/// event that is recorded in it.
///
/// # Timeout
///
/// A call that waits nevertheless, such as a first launch that loads code, or one
/// call more than the device's queue has room for, would hang for ever. So the
/// kernel gives up by itself after [`Blocker::TIMEOUT`] of the device's clock. What
/// is behind it then runs while the host still issues, and its times are not what
/// they seem: [`Blocker::end`] says so.
///
/// # Caveats
///
/// - The spinning block takes a place on one multiprocessor, and its looks cross
///   the link, until the release.
/// - The device sees the release about a microsecond after the host has written
///   it; the first event, recorded behind the kernel, is after that.
/// - Under a debugger or a profiler that runs kernels one by one, every hold lasts
///   until its timeout.
/// - One stream at a time: a second hold before the release is let go by it too.
pub struct Blocker {
    context: Context,
    flag: PinnedMemory,
    function: sys::CUfunction,
    epoch: u32,
    held_since: Instant,
}

impl Blocker {
    pub const TIMEOUT: Duration = Duration::from_secs(2);

    /// # Errors
    /// If the kernel library cannot be compiled or memory cannot be pinned.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        let flag = PinnedMemory::new(device, Bytes::new(64))?;
        let function = device.module()?.blocker;
        let context = device.context();
        let blocker = Self { context, flag, function, epoch: 0, held_since: Instant::now() };
        blocker.word().store(0, Ordering::SeqCst);
        Ok(blocker)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory is aligned and lives as long as `self`.
        unsafe { &*self.flag.as_mut_ptr().cast::<AtomicU32>() }
    }

    /// Makes everything issued to the stream from now on wait for the release.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn hold(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.epoch += 1;
        self.held_since = Instant::now();
        let mut flag = self.flag.as_mut_ptr() as u64;
        let mut epoch = self.epoch;
        let mut timeout = Self::TIMEOUT.as_nanos() as u64;
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut flag).cast(), (&raw mut epoch).cast(), (&raw mut timeout).cast()];
        // SAFETY: with unified addressing a pinned host address is a device
        // address too; the flag is dropped behind the kernel's end.
        unsafe { start(self.function, &ONE_THREAD, stream.raw(), &mut arguments) }
    }

    /// Releases the stream and waits until it and others are through.
    ///
    /// # Errors
    /// [`GpuError::HeldTooLong`] if the kernel had given up before the release; as
    /// for [`Blocker::finish`].
    pub fn end(&self, streams: &[&Stream]) -> Result<(), GpuError> {
        let held = self.held_since.elapsed();
        self.release();
        streams.iter().try_for_each(|stream| Self::finish(stream))?;
        if held < Self::TIMEOUT {
            Ok(())
        } else {
            Err(GpuError::HeldTooLong { seconds: Self::TIMEOUT.as_secs() })
        }
    }

    pub fn release(&self) {
        self.word().store(self.epoch, Ordering::SeqCst);
    }

    /// Waits for a stream with a limit, for use where a hang is conceivable.
    ///
    /// # Errors
    /// [`GpuError::Timeout`], or what the driver reports.
    pub fn finish(stream: &Stream) -> Result<(), GpuError> {
        let start = Instant::now();
        let limit = Self::TIMEOUT * 10;
        while !stream.is_done()? {
            if start.elapsed() > limit {
                return Err(GpuError::Timeout { seconds: limit.as_secs() });
            }
            std::hint::spin_loop();
        }
        Ok(())
    }
}

impl Drop for Blocker {
    /// Where an error came between hold and end, the kernel still looks at the flag.
    fn drop(&mut self) {
        if self.word().load(Ordering::SeqCst) != self.epoch {
            self.release();
            // What may have failed before is said elsewhere.
            let _ = self.context.within(|| {
                // SAFETY: only waits.
                check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
            });
        }
    }
}
