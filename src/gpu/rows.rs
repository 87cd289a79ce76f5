//! Copies of rows that lie apart.

use super::error::{GpuError, check};
use super::stream::Stream;
use crate::units::Bytes;
use cudarc::driver::sys;

/// Where rows lie: on a device or on the host.
#[derive(Debug, Clone, Copy)]
pub enum RowSide {
    Device(u64),
    Host(*mut f32),
}

/// The size of a copy of rows.
#[derive(Debug, Clone, Copy)]
pub struct RowShape {
    pub row: Bytes,
    pub count: u64,
    /// From the start of a row to the start of the next, where rows are read and written.
    pub pitch: [Bytes; 2],
}

impl Stream {
    /// Copies rows.
    ///
    /// # Safety
    /// All rows must be valid until the stream has executed the copy, and those that are read must
    /// not overlap those that are written.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub unsafe fn copy_rows(
        &self,
        from: RowSide,
        to: RowSide,
        RowShape { row, count, pitch }: RowShape,
    ) -> Result<(), GpuError> {
        use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
        let [from_pitch, to_pitch] = pitch.map(Bytes::as_usize);
        let nothing = std::ptr::null_mut::<std::ffi::c_void>();
        let parts = |side| match side {
            RowSide::Device(address) => (DEVICE, nothing, address),
            RowSide::Host(start) => (HOST, start.cast(), 0),
        };
        let (from_type, from_host, from_device) = parts(from);
        let (to_type, to_host, to_device) = parts(to);
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from_type,
            srcHost: from_host.cast_const(),
            srcDevice: from_device,
            srcArray: std::ptr::null_mut(),
            srcPitch: from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: to_type,
            dstHost: to_host,
            dstDevice: to_device,
            dstArray: std::ptr::null_mut(),
            dstPitch: to_pitch,
            WidthInBytes: row.as_usize(),
            Height: count as usize,
        };
        // SAFETY: the stream is alive, and the driver has read `copy` when the call returns; the
        // caller promises that the rows are valid.
        check("cuMemcpy2DAsync", unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.raw()) })
    }
}
