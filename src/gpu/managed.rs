//! Managed memory: one address for host and device, whose pages migrate between them.

use super::device::Device;
use super::error::{GpuError, check};
use super::stream::Stream;
use crate::machine::Residence;
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

/// Managed memory of `cuMemAllocManaged`, freed when dropped.
pub struct ManagedMemory {
    address: u64,
    bytes: Bytes,
    device: sys::CUdevice,
}

/// `CU_DEVICE_CPU` of cuda.h. It is a macro there, so the bindings lack it.
const CPU: sys::CUdevice = -1;

impl ManagedMemory {
    /// Allocates managed memory that both sides can use at once.
    ///
    /// # Errors
    /// [`GpuError::NoManagedMemory`] if this device does not migrate pages on demand;
    /// otherwise what the driver says, such as that there is too little memory.
    pub fn new(device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        Self::check(device)?;
        let mut address = 0;
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: a context is current, and `address` is written on success.
        let result =
            unsafe { sys::cuMemAllocManaged(&raw mut address, bytes.as_usize().max(4), flags) };
        check("cuMemAllocManaged", result)?;
        Ok(Self { address, bytes, device: device.handle() })
    }

    /// Checks that this device migrates pages of managed memory on demand, fault by
    /// fault, and can prefetch them ("concurrent managed access").
    ///
    /// # Errors
    /// [`GpuError::NoManagedMemory`] if it does not; otherwise what the driver says.
    pub fn check(device: &Device) -> Result<(), GpuError> {
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

    /// The address, which is valid on host and device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size that was asked for.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Moves `bytes` of the memory from byte `from` on to one side, in stream order.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn prefetch(
        &self,
        stream: &Stream,
        (from, bytes): (Bytes, Bytes),
        to: Residence,
    ) -> Result<(), GpuError> {
        assert!(from + bytes <= self.bytes, "a prefetch of more than there is");
        let target = match to {
            Residence::Host => CPU,
            Residence::Device => self.device,
        };
        let start = self.address + from.get();
        // This is the function of CUDA 12.0, which later drivers keep. Its second version
        // adds only the choice of a NUMA node of the host.
        // SAFETY: the range lies in this allocation, and the stream is alive.
        let result =
            unsafe { sys::cuMemPrefetchAsync(start, bytes.as_usize(), target, stream.raw()) };
        check("cuMemPrefetchAsync", result)
    }
}

impl Drop for ManagedMemory {
    fn drop(&mut self) {
        // SAFETY: the address was allocated in `new` and is freed only here.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}
