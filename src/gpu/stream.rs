//! Streams and events: one driver call each.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use super::launch::{Launch, StreamLibraries};
use crate::units::{Bytes, Span};
use cudarc::driver::sys;
use std::cell::RefCell;

/// A stream of the device.
pub struct Stream {
    context: Context,
    raw: sys::CUstream,
    libraries: RefCell<StreamLibraries>,
}

/// The handle of the legacy default stream: `CU_STREAM_LEGACY` of cuda.h. It is a macro
/// there, so the bindings lack it.
const LEGACY_DEFAULT: sys::CUstream = std::ptr::without_provenance_mut(1);

impl Stream {
    /// A non-blocking stream: it does not wait for the legacy default stream.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        Self::with_priority(device, 0)
    }

    /// A non-blocking stream. Of two waiting kernels, blocks of the one whose stream has
    /// the lower `priority` are dispatched first. The driver clamps numbers outside the
    /// device's range.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Self, GpuError> {
        Self::create(device, sys::CUstream_flags::CU_STREAM_NON_BLOCKING, priority)
    }

    /// A blocking stream: it waits for the legacy default stream, and that waits for it.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn blocking(device: &Device, priority: i32) -> Result<Self, GpuError> {
        Self::create(device, sys::CUstream_flags::CU_STREAM_DEFAULT, priority)
    }

    /// The legacy default stream. Each context has one; which one a call means depends on
    /// the context that is current at the call.
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
            // SAFETY: a context is current, and `stream` is written on success.
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

    pub(super) fn context(&self) -> Context {
        self.context
    }

    /// Copies host memory to the device.
    ///
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_in(&self, from: *const f32, to: u64, n: Bytes) -> Result<(), GpuError> {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), n.as_usize(), self.raw) };
        check("cuMemcpyHtoDAsync", result)
    }

    /// Copies device memory to the host.
    ///
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_out(&self, from: u64, to: *mut f32, n: Bytes) -> Result<(), GpuError> {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoHAsync", result)
    }

    /// Copies device memory to another place on the same device.
    ///
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy, and must not
    /// overlap.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_on_device(&self, from: u64, to: u64, n: Bytes) -> Result<(), GpuError> {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoDAsync", result)
    }

    /// Copies memory of the stream's device to memory of another device.
    ///
    /// # Safety
    /// Both ranges must be valid until the stream has executed the copy.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_to_peer(
        &self,
        from: u64,
        (device, to): (&Device, u64),
        n: Bytes,
    ) -> Result<(), GpuError> {
        let (theirs, mine) = (device.context().raw(), self.context.raw());
        // SAFETY: stream and contexts are alive; the caller promises that the ranges are valid.
        let result =
            unsafe { sys::cuMemcpyPeerAsync(to, theirs, from, mine, n.as_usize(), self.raw) };
        check("cuMemcpyPeerAsync", result)
    }

    /// Zeroes device memory.
    ///
    /// # Safety
    /// The range must be valid until the stream has executed the call.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn clear(&self, target: u64, bytes: Bytes) -> Result<(), GpuError> {
        // SAFETY: the stream is alive; the caller promises that the range is valid.
        let result = unsafe { sys::cuMemsetD8Async(target, 0, bytes.as_usize(), self.raw) };
        check("cuMemsetD8Async", result)
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// The memory that the launch names must be valid until the stream has executed it.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn launch(&self, launch: &Launch) -> Result<(), GpuError> {
        // SAFETY: the caller promises that the memory is valid; the driver copies the
        // arguments.
        unsafe { launch.start(self.raw, &mut self.libraries.borrow_mut()) }
    }

    /// Creates what a library needs for such a launch in this stream, so that it counts
    /// as set-up. Otherwise the first launch would create it.
    ///
    /// # Errors
    /// If the library is missing or has too little memory left.
    pub fn prepare(&self, launch: &Launch) -> Result<(), GpuError> {
        self.context.within(|| launch.prepare(self.raw, &mut self.libraries.borrow_mut()))
    }

    /// Records an event in the stream.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub fn record(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both handles are alive.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.raw) })
    }

    /// Makes later work in the stream wait for an event.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        // SAFETY: both handles are alive.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.0, 0) })
    }

    /// Blocks the host thread until everything issued to the stream so far is done.
    ///
    /// # Errors
    /// If the driver reports that any of it failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the handle is alive.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// Whether everything issued so far is done.
    ///
    /// # Errors
    /// If the driver reports that any of it failed.
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
            // Libraries' handles on this stream are destroyed before the stream is.
            self.libraries.take();
            if self.raw == LEGACY_DEFAULT {
                return Ok(());
            }
            // SAFETY: the stream was created in `create` and is destroyed only here.
            check("cuStreamDestroy", unsafe { sys::cuStreamDestroy_v2(self.raw) })
        };
        // Dropping cannot report an error.
        let _ = self.context.within(end);
    }
}

/// An event, with or without a time stamp. Without one it is cheaper to record.
pub struct Event(sys::CUevent);

impl Event {
    /// An event that only orders work and has no time stamp.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn ordering(device: &Device) -> Result<Self, GpuError> {
        Self::new(device, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    /// An event with a time stamp, for [`Event::since`].
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn timing(device: &Device) -> Result<Self, GpuError> {
        Self::new(device, sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn new(device: &Device, flags: sys::CUevent_flags) -> Result<Self, GpuError> {
        let mut event = std::ptr::null_mut();
        device.context().within(|| {
            // SAFETY: a context is current, and `event` is written on success.
            let result = unsafe { sys::cuEventCreate(&raw mut event, flags as u32) };
            check("cuEventCreate", result)
        })?;
        Ok(Self(event))
    }

    pub(super) fn raw(&self) -> sys::CUevent {
        self.0
    }

    /// Blocks the host thread until the latest record of the event has happened.
    ///
    /// # Errors
    /// If the driver reports that work before it failed.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        // SAFETY: the handle is alive.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// The time from `earlier` to this event; zero if this one came first.
    ///
    /// # Errors
    /// If either event has no time stamp or has not happened yet.
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
        // SAFETY: the event was created in `new` and is destroyed only here.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
