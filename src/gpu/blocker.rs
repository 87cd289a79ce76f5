//! A kernel that holds a stream.

use super::device::Device;
use super::error::GpuError;
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

/// Holds a stream until it is released, so that what is issued behind it
/// queues up and then runs as fast as the device can, not as fast as the host
/// can issue. One block spins on a word of host memory.
///
/// The kernel gives up by itself after [`Blocker::TIMEOUT`]: a call between
/// hold and release that waits for the device would otherwise hang for ever.
pub struct Blocker {
    flag: PinnedMemory,
    function: sys::CUfunction,
    epoch: u32,
}

impl Blocker {
    pub const TIMEOUT: Duration = Duration::from_secs(2);

    /// # Errors
    /// If the kernel library cannot be compiled or memory cannot be pinned.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        let flag = PinnedMemory::new(device, Bytes::new(64))?;
        let blocker = Self { flag, function: device.module()?.blocker, epoch: 0 };
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
        let mut flag = self.flag.as_mut_ptr() as u64;
        let mut epoch = self.epoch;
        let mut timeout = Self::TIMEOUT.as_nanos() as u64;
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut flag).cast(), (&raw mut epoch).cast(), (&raw mut timeout).cast()];
        // SAFETY: with unified addressing a pinned host address is a device
        // address too; the flag outlives the kernel because `release` follows.
        unsafe { start(self.function, &ONE_THREAD, stream.raw(), &mut arguments) }
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
