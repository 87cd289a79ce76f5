//! Copies of rows that lie apart.

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

impl RowShape {
    /// The copy as the driver takes it.
    pub(super) fn copy(self, from: RowSide, to: RowSide) -> sys::CUDA_MEMCPY2D {
        use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
        let Self { row, count, pitch } = self;
        let [from_pitch, to_pitch] = pitch.map(Bytes::as_usize);
        let nothing = std::ptr::null_mut::<std::ffi::c_void>();
        let parts = |side| match side {
            RowSide::Device(address) => (DEVICE, nothing, address),
            RowSide::Host(start) => (HOST, start.cast(), 0),
        };
        let (from_type, from_host, from_device) = parts(from);
        let (to_type, to_host, to_device) = parts(to);
        sys::CUDA_MEMCPY2D {
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
        }
    }
}
