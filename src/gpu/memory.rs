//! Device memory and page-locked host memory, given back when dropped.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use crate::units::Bytes;
use cudarc::driver::sys;
use std::ffi::c_void;

/// Plain device memory (`cuMemAlloc`), not from a stream-ordered pool.
pub struct DeviceMemory {
    context: Context,
    address: u64,
    bytes: Bytes,
}

impl DeviceMemory {
    /// # Errors
    /// If the device has not enough memory left.
    pub fn new(device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        let (context, mut address) = (device.context(), 0);
        context.within(|| {
            // SAFETY: a context is current; the address is written on success.
            let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.as_usize().max(4)) };
            check("cuMemAlloc", result)
        })?;
        Ok(Self { context, address, bytes })
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and freed once.
        let free = || check("cuMemFree", unsafe { sys::cuMemFree_v2(self.address) });
        // There is nobody to tell.
        let _ = self.context.within(free);
    }
}

/// Page-locked host memory (`cuMemHostAlloc`), mapped: a kernel can use its address.
/// Whichever device took it, all reach it (CUDA Driver API, "Unified Addressing").
pub struct PinnedMemory {
    address: *mut c_void,
    bytes: Bytes,
}

impl PinnedMemory {
    /// Memory like any other to the CPU and its caches.
    ///
    /// # Errors
    /// If the system will not lock so much memory.
    pub fn new(_device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        Self::with_flags(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP)
    }

    /// Memory that caches pass by: the CPU writes it in whole lines at once, and
    /// reads it so slowly that it had better not.
    ///
    /// # Errors
    /// If the system will not lock so much memory.
    pub fn write_combined(_device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_WRITECOMBINED;
        Self::with_flags(bytes, flags)
    }

    fn with_flags(bytes: Bytes, flags: u32) -> Result<Self, GpuError> {
        let mut address = std::ptr::null_mut();
        let size = bytes.as_usize().max(4);
        // SAFETY: a context is current; the address is written on success.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut address, size, flags) };
        check("cuMemHostAlloc", result)?;
        Ok(Self { address, bytes })
    }

    pub fn as_mut_ptr(&self) -> *mut f32 {
        self.address.cast()
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `with_flags` and freed once.
        unsafe { sys::cuMemFreeHost(self.address) };
    }
}

/// Host memory of somebody else's, page-locked for all devices as long as this lives.
pub struct Registration {
    address: *mut c_void,
}

impl Registration {
    /// # Safety
    /// `bytes` from `address` on must stay mapped while this lives.
    ///
    /// # Errors
    /// If the system will not lock so much memory.
    pub unsafe fn new(_device: &Device, address: *mut f32, bytes: Bytes) -> Result<Self, GpuError> {
        let address = address.cast();
        const PORTABLE: u32 = sys::CU_MEMHOSTREGISTER_PORTABLE;
        // SAFETY: the range is mapped, as the caller promises.
        let result = unsafe { sys::cuMemHostRegister_v2(address, bytes.as_usize(), PORTABLE) };
        check("cuMemHostRegister", result)?;
        Ok(Self { address })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: registered in `new` and unregistered once.
        unsafe { sys::cuMemHostUnregister(self.address) };
    }
}
