//! Device memory that is allocated and freed in the order of a stream, from the device's default
//! pool.

use super::device::{Context, Device};
use super::error::{GpuError, check};
use super::stream::Stream;
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

/// Device memory of `cuMemAllocAsync`. [`Stream::free`] gives it back in the order of a stream;
/// dropping it waits for the device.
pub struct PooledMemory {
    context: Context,
    address: u64,
}

impl PooledMemory {
    /// The address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for PooledMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated in `Stream::allocate` and is freed only once: `free`
        // forgets what it has freed.
        let free = || check("cuMemFree", unsafe { sys::cuMemFree_v2(self.address) });
        // Dropping cannot report an error.
        let _ = self.context.within(free);
    }
}

impl Device {
    /// Whether the device allocates in the order of streams.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn has_pools(&self) -> Result<bool, GpuError> {
        Ok(self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0)
    }

    /// Makes the default pool keep what is freed for later allocations, as frameworks do. Otherwise
    /// it goes back to the system at the next synchronisation.
    ///
    /// # Errors
    /// If the device has no pools.
    pub fn keep_pool(&self) -> Result<(), GpuError> {
        let mut pool = std::ptr::null_mut();
        let mut all = u64::MAX;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the handle is valid, `pool` is written on success, and the attribute is a 64-bit
        // number that the driver reads during the call.
        unsafe {
            let found = sys::cuDeviceGetDefaultMemPool(&raw mut pool, self.handle());
            check("cuDeviceGetDefaultMemPool", found)?;
            let set = sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut all).cast());
            check("cuMemPoolSetAttribute", set)
        }
    }
}

impl Stream {
    /// Allocates device memory that work behind the call in the stream may use.
    ///
    /// # Errors
    /// If the device has too little free memory.
    pub fn allocate(&self, bytes: Bytes) -> Result<PooledMemory, GpuError> {
        let mut address = 0;
        let size = bytes.as_usize().max(4);
        // SAFETY: the stream is alive, and `address` is written on success.
        let result = unsafe { sys::cuMemAllocAsync(&raw mut address, size, self.raw()) };
        check("cuMemAllocAsync", result)?;
        Ok(PooledMemory { context: self.context(), address })
    }

    /// Gives memory back when the stream has done all work before the call.
    ///
    /// # Errors
    /// If the driver refuses, or reports an earlier failure.
    pub fn free(&self, memory: PooledMemory) -> Result<(), GpuError> {
        // SAFETY: the memory was allocated in `allocate`; it is forgotten, so that it is freed
        // once.
        let result = unsafe { sys::cuMemFreeAsync(memory.address, self.raw()) };
        std::mem::forget(memory);
        check("cuMemFreeAsync", result)
    }
}
