//! What the driver and the operating system tell about a device.

use super::device::Device;
use super::error::{GpuResult, check};
use crate::machine::MultiprocessorLimits;
use crate::units::Bytes;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::CStr;
use std::path::Path;

/// What the driver and the operating system tell about a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub cuda: String,
    /// The driver's version, such as `580.159.03`; `None` where the system does not tell.
    pub driver: Option<String>,
    pub compute_capability: String,
    pub multiprocessors: u32,
    pub multiprocessor: MultiprocessorLimits,
    pub memory: Bytes,
    pub copy_engines: u32,
    /// Speed and width of the PCIe link, such as `32.0 GT/s PCIe x16`; `None` where the
    /// system does not tell.
    pub link: Option<String>,
}

impl Device {
    /// Asks the driver and the operating system about the device.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn describe(&self) -> GpuResult<Description> {
        let mut name = [0; 256];
        let mut version = 0;
        let mut memory = 0;
        // SAFETY: the handle is valid, and the buffers are as long as stated.
        let name = unsafe {
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), 256, self.handle))?;
            check("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut version))?;
            check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&raw mut memory, self.handle))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        let capability = self.compute_capability()?;
        Ok(Description {
            name,
            cuda: format!("{}.{}", version / 1000, version % 1000 / 10),
            driver: driver_version(),
            compute_capability: format!("{}.{}", capability / 10, capability % 10),
            multiprocessors: self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            multiprocessor: self.multiprocessor()?,
            memory: Bytes::new(memory as u64),
            copy_engines: self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)?,
            link: self.link(),
        })
    }

    fn multiprocessor(&self) -> GpuResult<MultiprocessorLimits> {
        use Attribute::{
            CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR as BLOCKS,
            CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR as REGISTERS,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as SHARED_BYTES,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR as THREADS,
        };
        Ok(MultiprocessorLimits {
            threads: self.attribute(THREADS)?,
            blocks: self.attribute(BLOCKS)?,
            registers: self.attribute(REGISTERS)?,
            shared_bytes: self.attribute(SHARED_BYTES)?,
        })
    }

    /// PCI domain, bus, device and function, such as `0000:18:00.0`.
    pub(super) fn pci_bus_id(&self) -> Option<String> {
        let mut id = [0; 32];
        // SAFETY: the buffer is as long as stated.
        let result = unsafe { sys::cuDeviceGetPCIBusId(id.as_mut_ptr(), 32, self.handle) };
        check("cuDeviceGetPCIBusId", result).ok()?;
        // SAFETY: the driver wrote a zero-terminated string into the buffer.
        Some(unsafe { CStr::from_ptr(id.as_ptr()) }.to_string_lossy().to_lowercase())
    }

    /// The PCIe link as the operating system sees it. A virtual machine may hide it.
    fn link(&self) -> Option<String> {
        let folder = Path::new("/sys/bus/pci/devices").join(self.pci_bus_id()?);
        let read = |name| std::fs::read_to_string(folder.join(name)).ok();
        let (speed, width) = (read("current_link_speed")?, read("current_link_width")?);
        Some(format!("{} x{}", speed.trim(), width.trim()))
    }
}

/// The version of the driver's kernel module. Only Linux tells it.
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let words = text.lines().next()?.split_whitespace();
    let looks_like_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.into_iter().find(looks_like_version).map(str::to_owned)
}
