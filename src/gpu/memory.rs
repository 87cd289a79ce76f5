//! Device memory and pinned host memory, freed when dropped.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use crate::units::Bytes;
use cudarc::driver::sys;
use std::ffi::c_void;

/// Device memory of `cuMemAlloc`, not of a stream-ordered pool.
pub struct DeviceMemory {
    context: Context,
    address: u64,
    bytes: Bytes,
}

impl DeviceMemory {
    /// Allocates memory on a device.
    ///
    /// # Errors
    /// If the device has too little free memory.
    pub fn new(device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        let (context, mut address) = (device.context(), 0);
        context.within(|| {
            // SAFETY: a context is current, and `address` is written on success.
            let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.as_usize().max(4)) };
            check("cuMemAlloc", result)
        })?;
        Ok(Self { context, address, bytes })
    }

    /// The address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated in `new` and is freed only here.
        let free = || check("cuMemFree", unsafe { sys::cuMemFree_v2(self.address) });
        // Dropping cannot report an error.
        let _ = self.context.within(free);
    }
}

/// Pinned (page-locked) host memory of `cuMemHostAlloc`, mapped into the devices' address
/// space, so a kernel can use its address. Every device can access it, whichever one is
/// current when it is allocated (CUDA Driver API, "Unified Addressing").
pub struct PinnedMemory {
    address: *mut c_void,
    bytes: Bytes,
}

impl PinnedMemory {
    /// Allocates memory that the CPU caches like any other.
    ///
    /// # Errors
    /// If the system refuses to lock that much memory.
    pub fn new(_device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        Self::with_flags(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP)
    }

    /// Allocates write-combined memory, which bypasses the CPU's caches. The CPU writes
    /// it quickly, a whole cache line at a time, but reads it so slowly that it should
    /// not.
    ///
    /// # Errors
    /// If the system refuses to lock that much memory.
    pub fn write_combined(_device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_WRITECOMBINED;
        Self::with_flags(bytes, flags)
    }

    fn with_flags(bytes: Bytes, flags: u32) -> Result<Self, GpuError> {
        let mut address = std::ptr::null_mut();
        let size = bytes.as_usize().max(4);
        // SAFETY: a context is current, and `address` is written on success.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut address, size, flags) };
        check("cuMemHostAlloc", result)?;
        Ok(Self { address, bytes })
    }

    /// The address on the host, which devices can use as well.
    pub fn as_mut_ptr(&self) -> *mut f32 {
        self.address.cast()
    }

    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated in `with_flags` and is freed only here.
        unsafe { sys::cuMemFreeHost(self.address) };
    }
}

/// Memory that someone else allocated, pinned (`cuMemHostRegister`) for all devices as
/// long as this value lives.
pub struct Registration {
    address: *mut c_void,
}

impl Registration {
    /// Pins `bytes` from `address` on.
    ///
    /// # Safety
    /// The `bytes` from `address` on must stay mapped as long as the value lives.
    ///
    /// # Errors
    /// If the system refuses to lock that much memory.
    pub unsafe fn new(_device: &Device, address: *mut f32, bytes: Bytes) -> Result<Self, GpuError> {
        let address = address.cast();
        const FLAGS: u32 = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: a context is current, and the caller promises that the range is mapped.
        let result = unsafe { sys::cuMemHostRegister_v2(address, bytes.as_usize(), FLAGS) };
        check("cuMemHostRegister", result)?;
        Ok(Self { address })
    }

    /// The address for kernels on the current device.
    ///
    /// # Errors
    /// If the device cannot use memory that others have allocated.
    pub fn device_address(&self) -> Result<u64, GpuError> {
        let mut address = 0;
        // SAFETY: the memory is registered and mapped, and `address` is written on success.
        let result =
            unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, self.address, 0) };
        check("cuMemHostGetDevicePointer", result)?;
        Ok(address)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: the range was registered in `new` and is unregistered only here.
        unsafe { sys::cuMemHostUnregister(self.address) };
    }
}
