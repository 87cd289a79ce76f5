//! Device memory, pinned host memory and managed memory, freed when dropped.

use super::device::{Context, Device};
use super::error::{GpuError, GpuResult, check};
use super::vendor::{AnyMemory, AnyRegistration};
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::c_void;

/// Device memory of `cuMemAlloc`, not of a stream-ordered pool.
pub struct DeviceMemory {
    pub(super) context: Context,
    pub(super) address: u64,
    pub(super) bytes: Bytes,
}

impl DeviceMemory {
    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl AnyMemory for DeviceMemory {
    fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated for this value and is freed only here.
        let free = || check("cuMemFree", unsafe { sys::cuMemFree_v2(self.address) });
        // Dropping cannot report an error.
        let _ = self.context.within(free);
    }
}

/// Device memory of `cuMemAllocAsync`, from the device's default pool. A stream gives it back in
/// its order and forgets it; dropping it waits for the device.
pub struct PooledMemory(pub(super) DeviceMemory);

impl AnyMemory for PooledMemory {
    fn address(&self) -> u64 {
        self.0.address
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
    /// `flags` are those besides the one that maps the memory.
    pub(super) fn new(bytes: Bytes, flags: u32) -> GpuResult<Self> {
        let flags = flags | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let mut address = std::ptr::null_mut();
        let size = bytes.as_usize().max(4);
        // SAFETY: a context is current, and `address` is written on success.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut address, size, flags) };
        check("cuMemHostAlloc", result)?;
        Ok(Self { address, bytes })
    }

    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl AnyMemory for PinnedMemory {
    fn address(&self) -> u64 {
        self.address as u64
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated in `new` and is freed only here.
        unsafe { sys::cuMemFreeHost(self.address) };
    }
}

/// Managed memory of `cuMemAllocManaged`, freed when dropped: one address for host and device,
/// whose pages migrate between them.
pub struct ManagedMemory {
    pub(super) address: u64,
    pub(super) bytes: Bytes,
    pub(super) device: sys::CUdevice,
}

impl ManagedMemory {
    /// Checks that this device migrates pages of managed memory on demand, fault by
    /// fault, and can prefetch them ("concurrent managed access").
    ///
    /// # Errors
    /// [`GpuError::NoManagedMemory`] if it does not; otherwise what the driver says.
    pub fn check(device: &Device) -> GpuResult {
        let needed = [
            Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
            Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
        ];
        for attribute in needed {
            if device.attribute(attribute)? == 0 {
                return Err(GpuError::NoManagedMemory);
            }
        }
        Ok(())
    }

    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl AnyMemory for ManagedMemory {
    fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for ManagedMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated for this value and is freed only here.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Memory that someone else allocated, pinned (`cuMemHostRegister`) for all devices as
/// long as this value lives.
pub struct Registration {
    pub(super) address: *mut c_void,
}

impl AnyRegistration for Registration {
    fn device_address(&self) -> GpuResult<u64> {
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
        // SAFETY: the range was registered for this value and is unregistered only here.
        unsafe { sys::cuMemHostUnregister(self.address) };
    }
}
