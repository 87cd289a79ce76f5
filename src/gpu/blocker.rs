//! A kernel that holds a stream until the host releases it.

use super::device::{Context, Device};
use super::error::{GpuError, GpuResult, check};
use super::launch::start;
use super::memory::PinnedMemory;
use super::stream::Stream;
use super::vendor::{AnyBlocker, AnyMemory};
use crate::kernels::Grid;
use crate::units::Bytes;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const ONE_THREAD: Grid = Grid { threads_per_block: 1, ..Grid::ONE_BLOCK };

/// Holds a stream until it is released: a kernel of one block spins on a word of host memory.
///
/// # Motivation
///
/// A short operation finishes before the host has issued the next one, so events around a chain of
/// them would time the host. Behind a held stream the chain queues up, and after the release it
/// runs as fast as the device can.
///
/// # Pattern
///
/// [`Blocker::hold`] a stream, record an event, issue the chain, record another event, and call
/// [`Blocker::end`]. It releases the stream, waits for it, and fails if the hold ended early.
/// Between hold and release, make no call that waits for the device. Other streams that are to
/// start together with the held one wait for an event recorded in it.
///
/// # Timeout
///
/// A call that waits all the same would hang for ever: a first launch that loads code, say, or one
/// call more than the device's queue has room for. The kernel therefore gives up after
/// [`Blocker::TIMEOUT`], by the device's clock. The work behind it then runs while the host is
/// still issuing, and its times mean nothing; [`Blocker::end`] reports that.
///
/// # Caveats
///
/// - Until the release, the spinning block occupies a place on one multiprocessor, and
///   each read of the word crosses the link.
/// - The device sees the release about a microsecond after the host has written it. The
///   first event, recorded behind the kernel, comes later than that.
/// - Under a debugger or profiler that serialises kernels, every hold lasts until its
///   timeout.
/// - Only one stream can be held at a time: the release for a second hold would release
///   the first one, too.
pub struct Blocker {
    context: Context,
    flag: PinnedMemory,
    function: sys::CUfunction,
    epoch: u32,
    held_since: Instant,
}

impl Blocker {
    /// How long a hold lasts if nobody releases it.
    pub const TIMEOUT: Duration = Duration::from_secs(2);

    /// Creates the flag and looks up the kernel; nothing is held yet.
    pub(super) fn new(device: &Device) -> GpuResult<Self> {
        let flag = PinnedMemory::new(Bytes::new(64), 0)?;
        let context = device.context;
        let module = device.module()?;
        let function = context.within(|| module.blocker())?;
        let blocker = Self { context, flag, function, epoch: 0, held_since: Instant::now() };
        blocker.word().store(0, Ordering::SeqCst);
        Ok(blocker)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory is aligned for a word and lives as long as `self`. Only
        // this atomic writes the word on the host; the device only reads it.
        unsafe { &*self.flag.as_mut_ptr().cast::<AtomicU32>() }
    }

    /// Releases the held stream, without waiting for anything.
    pub fn release(&self) {
        self.word().store(self.epoch, Ordering::SeqCst);
    }
}

impl AnyBlocker<Device> for Blocker {
    fn hold(&mut self, stream: &Stream) -> GpuResult {
        self.epoch += 1;
        self.held_since = Instant::now();
        let mut flag = self.flag.address();
        let mut epoch = self.epoch;
        let mut timeout = Self::TIMEOUT.as_nanos() as u64;
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut flag).cast(), (&raw mut epoch).cast(), (&raw mut timeout).cast()];
        // SAFETY: with unified addressing, the address of pinned host memory is valid on
        // the device. `drop` waits for the kernel before the flag is freed. The three
        // arguments have the types that the kernel declares.
        unsafe { start(self.function, &ONE_THREAD, stream.raw, &mut arguments) }
    }

    fn end(&self, streams: &[&Stream]) -> GpuResult {
        let held = self.held_since.elapsed();
        self.release();
        streams.iter().try_for_each(|stream| Self::finish(stream))?;
        if held < Self::TIMEOUT {
            Ok(())
        } else {
            Err(GpuError::HeldTooLong { seconds: Self::TIMEOUT.as_secs() })
        }
    }

    fn finish(stream: &Stream) -> GpuResult {
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
    /// Releases the kernel if it still spins because an error came between hold and end,
    /// and waits for it before the flag is freed.
    fn drop(&mut self) {
        if self.word().load(Ordering::SeqCst) != self.epoch {
            self.release();
            // Dropping cannot report an error; what failed before has been reported by its call.
            let _ = self.context.within(|| {
                // SAFETY: the call only waits for the device.
                check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
            });
        }
    }
}
