//! The errors of this room: what is missing on the machine, and which calls failed.

use crate::units::Bytes;
use cudarc::driver::sys::CUresult;
use std::ffi::CStr;

/// What is missing on this machine, or which call failed and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    #[error("no NVIDIA driver on this machine (libcuda was not found)")]
    NoDriver,
    #[error("the NVIDIA driver is there, but no GPU is visible to it")]
    NoDevice,
    #[error("there is no GPU {wanted}; this machine has {count}, counted from 0")]
    NoSuchDevice { wanted: usize, count: usize },
    #[error("this needs {wanted} GPUs, but only {count} are visible")]
    TooFewDevices { wanted: usize, count: usize },
    #[error(
        "NVRTC was not found: install the CUDA toolkit's libnvrtc or set LD_LIBRARY_PATH; from \
         CUDA 13 on, it is found only as libnvrtc.so, without a version"
    )]
    NoCompiler,
    #[error(
        "{library} was not found, which kernel `{kernel}` needs: install the CUDA toolkit's \
         {file} or set LD_LIBRARY_PATH"
    )]
    NoLibrary { library: &'static str, file: &'static str, kernel: &'static str },
    #[error(
        "this GPU does not migrate managed memory page by page (it lacks concurrent managed \
         access): leave --managed out"
    )]
    NoManagedMemory,
    #[error("only {free} of device memory is free: leave --managed out, or free some")]
    LittleMemory { free: Bytes },
    #[error("the kernel library did not compile:\n{log}")]
    Compile { log: String },
    #[error("kernel `{kernel}` of {file} cannot be loaded:\n{log}")]
    OwnCode { kernel: String, file: String, log: String },
    #[error("kernel `{kernel}` cannot be launched: {problem}")]
    OwnLaunch { kernel: String, problem: String },
    #[error("{call} failed: {name}")]
    Call { call: &'static str, name: String },
    #[error(
        "a held stream was not released within {seconds} s, after which the hold ends by itself"
    )]
    HeldTooLong { seconds: u64 },
    #[error("an operation on the device did not finish within {seconds} s")]
    Timeout { seconds: u64 },
}

impl GpuError {
    /// Whether something that the caller needs is missing on this machine, as opposed to
    /// failing.
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

/// Turns the result of a driver call into a [`GpuError`]. It is called only once the
/// driver has been loaded, so asking the driver for the error's name is safe.
pub(super) fn check(call: &'static str, result: CUresult) -> Result<(), GpuError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver is loaded; on success `name` points to a static, zero-terminated
    // string.
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
