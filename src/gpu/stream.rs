//! Streams and events: one driver call each.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use super::kernels::{Launch, StreamLibraries};
use crate::units::{Bytes, Span};
use cudarc::driver::sys;
use std::cell::RefCell;

/// A stream of the device.
pub struct Stream {
    context: Context,
    raw: sys::CUstream,
    libraries: RefCell<StreamLibraries>,
}

/// The handle that stands for the legacy default stream (`CU_STREAM_LEGACY` of
/// cuda.h, a macro and so not in the bindings).
const LEGACY_DEFAULT: sys::CUstream = std::ptr::without_provenance_mut(1);

impl Stream {
    /// A non-blocking stream: it does not wait for the legacy default stream.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        Self::with_priority(device, 0)
    }

    /// A non-blocking stream; of two kernels that wait, blocks of that in the
    /// stream of the lower number are dispatched first. Numbers that the device
    /// does not have count as the nearest that it has.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Self, GpuError> {
        Self::create(device, sys::CUstream_flags::CU_STREAM_NON_BLOCKING, priority)
    }

    /// A stream that waits for the legacy default stream, and it for this.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn blocking(device: &Device, priority: i32) -> Result<Self, GpuError> {
        Self::create(device, sys::CUstream_flags::CU_STREAM_DEFAULT, priority)
    }

    /// The legacy default stream, of which there is one to a context: that which is
    /// current at each call.
    pub fn legacy_default(device: &Device) -> Self {
        Self::of(device, LEGACY_DEFAULT)
    }

    fn create(
        device: &Device,
        flags: sys::CUstream_flags,
        priority: i32,
    ) -> Result<Self, GpuError> {
        let mut stream = std::ptr::null_mut();
        let flags = flags as u32;
        device.context().within(|| {
            // SAFETY: a context is current; the handle is written on success.
            let result =
                unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, flags, priority) };
            check("cuStreamCreateWithPriority", result)
        })?;
        Ok(Self::of(device, stream))
    }

    fn of(device: &Device, raw: sys::CUstream) -> Self {
        Self { context: device.context(), raw, libraries: RefCell::default() }
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Copies host memory to the device.
    ///
    /// # Safety
    /// Both ranges must be valid, and stay so until the stream has done it.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_in(&self, from: *const f32, to: u64, n: Bytes) -> Result<(), GpuError> {
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), n.as_usize(), self.raw) };
        check("cuMemcpyHtoDAsync", result)
    }

    /// Copies device memory to the host.
    ///
    /// # Safety
    /// As for [`Stream::copy_in`].
    ///
    /// # Errors
    /// As for [`Stream::copy_in`].
    pub unsafe fn copy_out(&self, from: u64, to: *mut f32, n: Bytes) -> Result<(), GpuError> {
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoHAsync", result)
    }

    /// Copies device memory to elsewhere on the device.
    ///
    /// # Safety
    /// As for [`Stream::copy_in`], and the ranges must not overlap.
    ///
    /// # Errors
    /// As for [`Stream::copy_in`].
    pub unsafe fn copy_on_device(&self, from: u64, to: u64, n: Bytes) -> Result<(), GpuError> {
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoDAsync", result)
    }

    /// Copies memory of the stream's device to that of another.
    ///
    /// # Safety
    /// As for [`Stream::copy_in`].
    ///
    /// # Errors
    /// As for [`Stream::copy_in`].
    pub unsafe fn copy_to_peer(
        &self,
        from: u64,
        (device, to): (&Device, u64),
        n: Bytes,
    ) -> Result<(), GpuError> {
        let (theirs, mine) = (device.context().raw(), self.context.raw());
        let result =
            unsafe { sys::cuMemcpyPeerAsync(to, theirs, from, mine, n.as_usize(), self.raw) };
        check("cuMemcpyPeerAsync", result)
    }

    /// Zeroes device memory.
    ///
    /// # Safety
    /// The range must be valid, and stay so until the stream has done it.
    ///
    /// # Errors
    /// As for [`Stream::copy_in`].
    pub unsafe fn clear(&self, target: u64, bytes: Bytes) -> Result<(), GpuError> {
        let result = unsafe { sys::cuMemsetD8Async(target, 0, bytes.as_usize(), self.raw) };
        check("cuMemsetD8Async", result)
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The memory that the launch names must be valid until the stream has done it.
    ///
    /// # Errors
    /// As for [`Stream::copy_in`].
    pub unsafe fn launch(&self, launch: &Launch) -> Result<(), GpuError> {
        // SAFETY: as the caller promises; the driver copies the arguments.
        unsafe { launch.start(self.raw, &mut self.libraries.borrow_mut()) }
    }

    /// Makes what a library needs to start such a launch here, as a part of the
    /// set-up: otherwise the first launch does.
    ///
    /// # Errors
    /// If the library has no memory left.
    pub fn prepare(&self, launch: &Launch) -> Result<(), GpuError> {
        self.context.within(|| launch.prepare(self.raw, &mut self.libraries.borrow_mut()))
    }

    /// # Errors
    /// As for [`Stream::copy_in`].
    pub fn record(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both handles are alive.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.raw) })
    }

    /// # Errors
    /// As for [`Stream::copy_in`].
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both handles are alive.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.0, 0) })
    }

    /// Waits on the host until everything issued so far is done.
    ///
    /// # Errors
    /// If the driver reports a failure of any of it.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the handle is alive.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// Whether everything issued so far is done.
    ///
    /// # Errors
    /// If the driver reports a failure of any of it.
    pub fn is_done(&self) -> Result<bool, GpuError> {
        // SAFETY: the handle is alive.
        match unsafe { sys::cuStreamQuery(self.raw) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => check("cuStreamQuery", other).map(|()| true),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let end = || {
            // What libraries have on this stream goes before it.
            self.libraries.take();
            if self.raw == LEGACY_DEFAULT {
                return Ok(());
            }
            // SAFETY: created in `create` and destroyed once.
            check("cuStreamDestroy", unsafe { sys::cuStreamDestroy_v2(self.raw) })
        };
        // There is nobody to tell.
        let _ = self.context.within(end);
    }
}

/// An event, with or without a time stamp. Without is cheaper to record.
pub struct Event(sys::CUevent);

impl Event {
    /// An event that only orders.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn ordering(device: &Device) -> Result<Self, GpuError> {
        Self::new(device, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    /// An event whose time can be asked for.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn timing(device: &Device) -> Result<Self, GpuError> {
        Self::new(device, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn new(device: &Device, flags: sys::CUevent_flags) -> Result<Self, GpuError> {
        let mut event = std::ptr::null_mut();
        device.context().within(|| {
            // SAFETY: a context is current; the handle is written on success.
            let result = unsafe { sys::cuEventCreate(&raw mut event, flags as u32) };
            check("cuEventCreate", result)
        })?;
        Ok(Self(event))
    }

    pub(super) fn raw(&self) -> sys::CUevent {
        self.0
    }

    /// The time from `earlier` to this event; zero if they are out of order.
    ///
    /// # Errors
    /// If either has no time stamp or has not happened yet.
    pub fn since(&self, earlier: &Self) -> Result<Span, GpuError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both handles are alive.
        let result = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.0, self.0) };
        check("cuEventElapsedTime", result)?;
        Ok(Span::from_seconds_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new` and destroyed once.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
