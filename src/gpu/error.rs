//! The errors of this room: what is missing on the machine, and which calls failed.

use crate::units::Bytes;
use cudarc::driver::sys::CUresult;
use std::ffi::CStr;

/// What a call to the device returns.
pub type GpuResult<T = ()> = Result<T, GpuError>;

/// What is missing on this machine, or which call failed and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    #[error("this machine has no NVIDIA driver (libcuda was not found)")]
    NoDriver,
    #[error("the NVIDIA driver is installed, but sees no GPU")]
    NoDevice,
    #[error("there is no GPU {wanted}: GPUs are numbered from 0, and the machine has {count}")]
    NoSuchDevice { wanted: usize, count: usize },
    #[error("this needs {wanted} GPUs, but the number of visible GPUs is {count}")]
    TooFewDevices { wanted: usize, count: usize },
    #[error(
        "NVRTC was not found: install libnvrtc from the CUDA toolkit or set LD_LIBRARY_PATH; \
         CUDA 13 and later need libnvrtc.so, without a version"
    )]
    NoCompiler,
    #[error(
        "kernel `{kernel}` needs {library}, which was not found: install {file} from the CUDA \
         toolkit or set LD_LIBRARY_PATH"
    )]
    NoLibrary { library: &'static str, file: &'static str, kernel: &'static str },
    #[error(
        "this GPU cannot migrate managed memory page by page (no concurrent managed access): \
         drop --managed"
    )]
    NoManagedMemory,
    #[error("only {free} of device memory is free: drop --managed, or free device memory")]
    LittleMemory { free: Bytes },
    #[error("the kernel library did not compile:\n{log}")]
    Compile { log: String },
    #[error("kernel `{kernel}` of {file} cannot be loaded:\n{log}")]
    OwnCode { kernel: String, file: String, log: String },
    #[error("kernel `{kernel}` cannot be launched: {problem}")]
    OwnLaunch { kernel: String, problem: String },
    #[error("{call} failed: {name}")]
    Call { call: &'static str, name: String },
    #[error("a blocked stream was not released within {seconds} s and continued on its own")]
    HeldTooLong { seconds: u64 },
    #[error("an operation on the device did not finish within {seconds} s")]
    Timeout { seconds: u64 },
}

impl GpuError {
    /// Whether something that the caller needs is missing on this machine, as opposed to failing.
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
pub(super) fn check(call: &'static str, result: CUresult) -> GpuResult {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver is loaded; on success `name` points to a static, zero-terminated string.
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
