//! Managed memory: one address for host and device, and pages that move.

use super::device::Device;
use super::error::{GpuError, check};
use super::stream::Stream;
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

/// Managed memory, given back when dropped (`cuMemAllocManaged`).
pub struct ManagedMemory {
    address: u64,
    bytes: Bytes,
    device: sys::CUdevice,
}

/// Which side pages are to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residence {
    Host,
    Device,
}

/// `CU_DEVICE_CPU` of cuda.h, a macro and so not in the bindings.
const CPU: sys::CUdevice = -1;

impl ManagedMemory {
    /// # Errors
    /// [`GpuError::NoManagedMemory`] if pages do not move by themselves on this
    /// device; otherwise if there is not so much memory.
    pub fn new(device: &Device, bytes: Bytes) -> Result<Self, GpuError> {
        Self::check(device)?;
        let mut address = 0;
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: a context is current; the address is written on success.
        let result =
            unsafe { sys::cuMemAllocManaged(&raw mut address, bytes.as_usize().max(4), flags) };
        check("cuMemAllocManaged", result)?;
        Ok(Self { address, bytes, device: device.handle() })
    }

    /// Whether pages of managed memory follow their users on this device, one fault
    /// at a time, and can be asked for in advance: "concurrent managed access".
    ///
    /// # Errors
    /// [`GpuError::NoManagedMemory`].
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

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Moves the first pages, so many bytes of them, in stream order.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn prefetch(&self, stream: &Stream, bytes: Bytes, to: Residence) -> Result<(), GpuError> {
        assert!(bytes <= self.bytes, "a prefetch of more than there is");
        let target = match to {
            Residence::Host => CPU,
            Residence::Device => self.device,
        };
        // The function of CUDA 12.0, which later drivers have as well; its second
        // version only names places on a host too.
        // SAFETY: the range is ours.
        let result = unsafe {
            sys::cuMemPrefetchAsync(self.address, bytes.as_usize(), target, stream.raw())
        };
        check("cuMemPrefetchAsync", result)
    }
}

impl Drop for ManagedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and freed once.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}
