//! What can go wrong with a device.

use crate::units::Bytes;
use cudarc::driver::sys::CUresult;
use std::ffi::CStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    #[error("no NVIDIA driver on this machine (libcuda was not found)")]
    NoDriver,
    #[error("the NVIDIA driver is there, but no GPU is visible to it")]
    NoDevice,
    #[error("there is no GPU {wanted}; this machine has {count}, counted from 0")]
    NoSuchDevice { wanted: usize, count: usize },
    #[error("this takes {wanted} GPUs, and {count} are visible")]
    TooFewDevices { wanted: usize, count: usize },
    #[error(
        "NVRTC was not found: install the CUDA toolkit's libnvrtc or set LD_LIBRARY_PATH; of CUDA \
         13 and later the name libnvrtc.so has to be there, without a version"
    )]
    NoCompiler,
    #[error(
        "{library} was not found, which kernel `{kernel}` needs: install the CUDA toolkit's \
         {file} or set LD_LIBRARY_PATH"
    )]
    NoLibrary { library: &'static str, file: &'static str, kernel: &'static str },
    #[error(
        "this GPU does not move managed memory page by page (concurrent managed access): leave \
         --managed out"
    )]
    NoManagedMemory,
    #[error("only {free} of device memory is free: leave --managed out, or free some")]
    LittleMemory { free: Bytes },
    #[error("the kernel library did not compile:\n{log}")]
    Compile { log: String },
    #[error("{call} failed: {name}")]
    Call { call: &'static str, name: String },
    #[error("issuing work to a stream took longer than the {seconds} s for which it is held")]
    HeldTooLong { seconds: u64 },
    #[error("an operation on the device did not finish within {seconds} s")]
    Timeout { seconds: u64 },
}

impl GpuError {
    /// Whether the machine lacks what was asked of it.
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::NoDriver
                | Self::NoDevice
                | Self::NoSuchDevice { .. }
                | Self::TooFewDevices { .. }
                | Self::NoCompiler
                | Self::NoLibrary { .. }
                | Self::NoManagedMemory
        )
    }
}

/// Turns a driver call's result into ours. Only called once the driver is
/// known to be there, so asking it for the error's name is safe.
pub(super) fn check(call: &'static str, result: CUresult) -> Result<(), GpuError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver is loaded; on success `name` points to a static string.
    let name = unsafe {
        match cudarc::driver::sys::cuGetErrorName(result, &raw mut name) {
            CUresult::CUDA_SUCCESS if !name.is_null() => {
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }
            _ => format!("error {}", result as u32),
        }
    };
    Err(GpuError::Call { call, name })
}
