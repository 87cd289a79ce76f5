//! Streams and events: one driver call each.

use super::device::{Context, Device};
use super::error::{GpuError, GpuResult, check};
use super::graph::{ExecutableGraph, Graph};
use super::launch::{Launch, StreamLibraries};
use super::memory::{DeviceMemory, ManagedMemory, PooledMemory};
use super::rows::{RowShape, RowSide};
use super::vendor::{AnyEvent, AnyMemory, AnyStream};
use crate::machine::Residence;
use crate::units::{Bytes, Span};
use cudarc::driver::sys;
use std::cell::RefCell;

/// A stream of the device.
pub struct Stream {
    context: Context,
    pub(super) raw: sys::CUstream,
    libraries: RefCell<StreamLibraries>,
}

/// The handle of the legacy default stream: `CU_STREAM_LEGACY` of cuda.h. It is a macro
/// there, so the bindings lack it.
pub(super) const LEGACY_DEFAULT: sys::CUstream = std::ptr::without_provenance_mut(1);

/// `CU_DEVICE_CPU` of cuda.h. It is a macro there, so the bindings lack it.
const CPU: sys::CUdevice = -1;

impl Stream {
    pub(super) fn new(
        device: &Device,
        flags: sys::CUstream_flags,
        priority: i32,
    ) -> GpuResult<Self> {
        let mut stream = std::ptr::null_mut();
        let flags = flags as u32;
        device.context.within(|| {
            // SAFETY: a context is current, and `stream` is written on success.
            let result =
                unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, flags, priority) };
            check("cuStreamCreateWithPriority", result)
        })?;
        Ok(Self::of(device, stream))
    }

    pub(super) fn of(device: &Device, raw: sys::CUstream) -> Self {
        Self { context: device.context, raw, libraries: RefCell::default() }
    }

    /// Whether everything issued so far is done.
    ///
    /// # Errors
    /// If the driver reports that any of it failed.
    pub fn is_done(&self) -> GpuResult<bool> {
        // SAFETY: the handle is alive.
        match unsafe { sys::cuStreamQuery(self.raw) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => check("cuStreamQuery", other).map(|()| true),
        }
    }
}

impl AnyStream<Device> for Stream {
    unsafe fn copy_in(&self, from: *const f32, to: u64, n: Bytes) -> GpuResult {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), n.as_usize(), self.raw) };
        check("cuMemcpyHtoDAsync", result)
    }

    unsafe fn copy_out(&self, from: u64, to: *mut f32, n: Bytes) -> GpuResult {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoHAsync", result)
    }

    unsafe fn copy_on_device(&self, from: u64, to: u64, n: Bytes) -> GpuResult {
        // SAFETY: the stream is alive; the caller promises that the ranges are valid.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, n.as_usize(), self.raw) };
        check("cuMemcpyDtoDAsync", result)
    }

    unsafe fn copy_to_peer(&self, from: u64, (device, to): (&Device, u64), n: Bytes) -> GpuResult {
        let (theirs, mine) = (device.context.0, self.context.0);
        // SAFETY: stream and contexts are alive; the caller promises that the ranges are valid.
        let result =
            unsafe { sys::cuMemcpyPeerAsync(to, theirs, from, mine, n.as_usize(), self.raw) };
        check("cuMemcpyPeerAsync", result)
    }

    unsafe fn copy_rows(&self, from: RowSide, to: RowSide, shape: RowShape) -> GpuResult {
        let copy = shape.copy(from, to);
        // SAFETY: the stream is alive, and the driver has read `copy` when the call returns; the
        // caller promises that the rows are valid.
        check("cuMemcpy2DAsync", unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.raw) })
    }

    unsafe fn clear(&self, target: u64, bytes: Bytes) -> GpuResult {
        // SAFETY: the stream is alive; the caller promises that the range is valid.
        let result = unsafe { sys::cuMemsetD8Async(target, 0, bytes.as_usize(), self.raw) };
        check("cuMemsetD8Async", result)
    }

    fn prefetch(
        &self,
        memory: &ManagedMemory,
        (from, bytes): (Bytes, Bytes),
        to: Residence,
    ) -> GpuResult {
        assert!(from + bytes <= memory.bytes(), "a prefetch of more than there is");
        let target = match to {
            Residence::Host => CPU,
            Residence::Device => memory.device,
        };
        let start = memory.address + from.get();
        // This is the function of CUDA 12.0, which later drivers keep. Its second version
        // adds only the choice of a NUMA node of the host.
        // SAFETY: the range lies in this allocation, and the stream is alive.
        let result = unsafe { sys::cuMemPrefetchAsync(start, bytes.as_usize(), target, self.raw) };
        check("cuMemPrefetchAsync", result)
    }

    fn prepare(&self, launch: &Launch) -> GpuResult {
        self.context.within(|| launch.prepare(self.raw, &mut self.libraries.borrow_mut()))
    }

    unsafe fn launch(&self, launch: &Launch) -> GpuResult {
        // SAFETY: the caller promises that the memory is valid; the driver copies the arguments.
        unsafe { launch.start(self.raw, &mut self.libraries.borrow_mut()) }
    }

    fn allocate(&self, bytes: Bytes) -> GpuResult<PooledMemory> {
        let mut address = 0;
        let size = bytes.as_usize().max(4);
        // SAFETY: the stream is alive, and `address` is written on success.
        let result = unsafe { sys::cuMemAllocAsync(&raw mut address, size, self.raw) };
        check("cuMemAllocAsync", result)?;
        Ok(PooledMemory(DeviceMemory { context: self.context, address, bytes }))
    }

    fn free(&self, memory: PooledMemory) -> GpuResult {
        // SAFETY: the memory was allocated in `allocate`; it is forgotten, so that it is freed
        // once.
        let result = unsafe { sys::cuMemFreeAsync(memory.address(), self.raw) };
        std::mem::forget(memory);
        check("cuMemFreeAsync", result)
    }

    fn record(&self, event: &Event) -> GpuResult {
        // SAFETY: both handles are alive.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.raw) })
    }

    fn wait(&self, event: &Event) -> GpuResult {
        // SAFETY: both handles are alive.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.0, 0) })
    }

    fn synchronize(&self) -> GpuResult {
        // SAFETY: the handle is alive.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    fn capture<E: From<GpuError>>(
        &self,
        issue: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        // Relaxed, because libraries may make calls at their first use that stricter modes forbid.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(self.raw, mode) })?;
        let issued = issue();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is alive, and `graph` is written; it is null after a failure.
        let ended = unsafe { sys::cuStreamEndCapture(self.raw, &raw mut graph) };
        let graph = Graph(graph);
        issued?;
        check("cuStreamEndCapture", ended)?;
        Ok(graph)
    }

    unsafe fn replay(&self, graph: &ExecutableGraph) -> GpuResult {
        // SAFETY: both handles are alive; the caller promises that the nodes' memory is valid.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.raw) })
    }

    fn mark(&self, event: &Event) -> GpuResult {
        let flags = sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
        // SAFETY: both handles are alive.
        let result = unsafe { sys::cuEventRecordWithFlags(event.0, self.raw, flags) };
        check("cuEventRecordWithFlags", result)
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
            // SAFETY: the stream was created in `new` and is destroyed only here.
            check("cuStreamDestroy", unsafe { sys::cuStreamDestroy_v2(self.raw) })
        };
        // Dropping cannot report an error.
        let _ = self.context.within(end);
    }
}

/// An event, with or without a time stamp. Without one it is cheaper to record.
pub struct Event(sys::CUevent);

impl Event {
    pub(super) fn new(device: &Device, flags: sys::CUevent_flags) -> GpuResult<Self> {
        let mut event = std::ptr::null_mut();
        device.context.within(|| {
            // SAFETY: a context is current, and `event` is written on success.
            let result = unsafe { sys::cuEventCreate(&raw mut event, flags as u32) };
            check("cuEventCreate", result)
        })?;
        Ok(Self(event))
    }
}

impl AnyEvent for Event {
    fn synchronize(&self) -> GpuResult {
        // SAFETY: the handle is alive.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }

    fn since(&self, earlier: &Self) -> GpuResult<Span> {
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
