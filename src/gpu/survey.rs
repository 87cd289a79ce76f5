//! Which of CUDA's libraries this machine has, without using any of them.

use super::libraries::open;
use crate::units::words;
use cudarc::driver::sys;
use cudarc::nvrtc::sys as nvrtc;
use std::ffi::{c_int, c_uint};

words! {
    /// A library of CUDA that was looked for.
    pub enum CudaLibrary {
        /// The driver's own: nothing runs on a GPU without it.
        Driver = "driver",
        Nvrtc = "NVRTC",
        Cublas = "cuBLAS",
        Cufft = "cuFFT",
        Nvml = "NVML",
        Cupti = "CUPTI",
    }
}

impl CudaLibrary {
    /// Its version, or an empty text where it does not tell. `None`: it is not there.
    pub fn version(self) -> Option<String> {
        match self {
            Self::Driver => driver(),
            Self::Nvrtc => nvrtc_version(),
            Self::Cublas => by_parts(&super::libraries::CUBLAS, b"cublasGetProperty\0"),
            Self::Cufft => by_parts(&super::libraries::CUFFT, b"cufftGetProperty\0"),
            Self::Cupti => cupti(),
            // It tells its version only once it was started, which the monitor does.
            Self::Nvml => open(&super::monitor::FILES).map(|_| String::new()),
        }
    }
}

/// The newest CUDA version that the driver supports, such as `13.0`.
fn driver() -> Option<String> {
    let mut version = 0;
    // SAFETY: only asks the loader; without this, any call would panic.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    // SAFETY: the library is there, and the word is written on success. This call needs no
    // initialised driver.
    let result = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    let told = result == sys::CUresult::CUDA_SUCCESS;
    let version = format!("{}.{}", version / 1000, version % 1000 / 10);
    Some(if told { version } else { String::new() })
}

fn nvrtc_version() -> Option<String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: only asks the loader; without this, any call would panic.
    if !unsafe { nvrtc::is_culib_present() } {
        return None;
    }
    // SAFETY: the library is there, and both words are written on success.
    let result = unsafe { nvrtc::nvrtcVersion(&raw mut major, &raw mut minor) };
    let told = result == nvrtc::nvrtcResult::NVRTC_SUCCESS;
    Some(if told { format!("{major}.{minor}") } else { String::new() })
}

/// The version of a library that tells its parts one by one (`libraryPropertyType`).
fn by_parts(files: &[&str], function: &[u8]) -> Option<String> {
    type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    const MAJOR_MINOR_PATCH: [c_int; 3] = [0, 1, 2];
    let library = open(files)?;
    // SAFETY: functions of these names have this type.
    let Ok(ask) = (unsafe { library.get::<Property>(function) }) else {
        return Some(String::new());
    };
    let part = |which: c_int| {
        let mut value = 0;
        // SAFETY: the word is written on success.
        (unsafe { ask(which, &raw mut value) } == 0).then(|| value.to_string())
    };
    Some(MAJOR_MINOR_PATCH.into_iter().map_while(part).collect::<Vec<_>>().join("."))
}

fn cupti() -> Option<String> {
    type Version = unsafe extern "C" fn(*mut c_uint) -> c_int;
    let library = open(&["libcupti.so", "libcupti.so.13", "libcupti.so.12"])?;
    let mut version = 0;
    // SAFETY: the function of this name has this type, and the word is written on success.
    let told = unsafe {
        library.get::<Version>(b"cuptiGetVersion\0").is_ok_and(|ask| ask(&raw mut version) == 0)
    };
    Some(if told { format!("API version {version}") } else { String::new() })
}
