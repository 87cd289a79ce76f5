//! The kernel library in CUDA C, compiled once per process.

use super::error::{GpuError, check};
use crate::kernels::Kernel;
use cudarc::driver::sys;
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use std::ffi::{CStr, CString};

const SOURCE: &str = include_str!("kernels.cu");

/// A loaded module with a handle for every kernel.
pub(super) struct Module {
    handle: sys::CUmodule,
    /// One handle for each kernel that is written in `kernels.cu`.
    pub functions: Vec<(Kernel, sys::CUfunction)>,
    pub blocker: sys::CUfunction,
    /// The zero-terminated PTX that the module was loaded from.
    image: Vec<std::ffi::c_char>,
}

impl Module {
    /// The PTX that the module was loaded from, with a zero at its end.
    pub fn image(&self) -> &[std::ffi::c_char] {
        &self.image
    }

    pub fn compile(major: u32, minor: u32) -> Result<Self, GpuError> {
        Self::load(compile_ptx(major, minor)?)
    }

    /// Loads a second module from this one's PTX.
    pub fn load_again(&self) -> Result<Self, GpuError> {
        Self::load(self.image.clone())
    }

    /// Loads a module and looks up every kernel in it.
    fn load(image: Vec<std::ffi::c_char>) -> Result<Self, GpuError> {
        let mut module = Self::bare(image)?;
        for kernel in Kernel::ALL.into_iter().filter(|&kernel| kernel.library().is_none()) {
            let function = module.of(kernel)?;
            module.functions.push((kernel, function));
        }
        module.blocker = module.function("hold_until_released")?;
        Ok(module)
    }

    /// Loads a module and looks nothing up: the driver loads a kernel's code when it is asked for.
    pub fn bare(image: Vec<std::ffi::c_char>) -> Result<Self, GpuError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current, and the image is zero-terminated PTX of NVRTC.
        let result = unsafe { sys::cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) };
        if result == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
            let log = "NVRTC is newer than the driver: update the driver, or put an older \
                       toolkit's libnvrtc first in LD_LIBRARY_PATH";
            return Err(GpuError::Compile { log: log.to_owned() });
        }
        check("cuModuleLoadData", result)?;
        Ok(Self { handle, functions: Vec::new(), blocker: std::ptr::null_mut(), image })
    }

    /// Looks up a kernel that is written in `kernels.cu`.
    pub fn of(&self, kernel: Kernel) -> Result<sys::CUfunction, GpuError> {
        // C allows no dashes in names.
        self.function(&kernel.name().replace('-', "_"))
    }

    fn function(&self, name: &str) -> Result<sys::CUfunction, GpuError> {
        let name = CString::new(name).expect("kernel names have no zero byte");
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name is zero-terminated, and `function` is
        // written on success.
        let result =
            unsafe { sys::cuModuleGetFunction(&raw mut function, self.handle, name.as_ptr()) };
        check("cuModuleGetFunction", result)?;
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module was loaded in `load` and is unloaded only here, before its
        // context is released.
        unsafe { sys::cuModuleUnload(self.handle) };
    }
}

/// Checks that NVRTC is there. Without it, any other call of it would panic.
pub(super) fn compiler() -> Result<(), GpuError> {
    // SAFETY: the call only asks the dynamic loader.
    if unsafe { nvrtc_sys::is_culib_present() } { Ok(()) } else { Err(GpuError::NoCompiler) }
}

/// Compiles the source for a compute capability, or for the newest older one that NVRTC
/// knows.
fn compile_ptx(major: u32, minor: u32) -> Result<Vec<std::ffi::c_char>, GpuError> {
    compiler()?;
    let failed = |what: &str| GpuError::Compile { log: what.to_owned() };
    let source = CString::new(SOURCE).expect("the source has no zero byte");
    let program =
        nvrtc::create_program(&source, None).map_err(|_| failed("nvrtcCreateProgram failed"))?;
    let own = 10 * major + minor;
    let option = |number: u32| [format!("--gpu-architecture=compute_{number}")];
    // SAFETY: the program was created above and is destroyed once, below.
    unsafe {
        let mut compiled = nvrtc::compile_program(program, &option(own));
        // If NVRTC is older than the GPU, an older architecture's PTX runs, too.
        if compiled.is_err()
            && let Some(older) = newest_known(own)
        {
            compiled = nvrtc::compile_program(program, &option(older));
        }
        let ptx = match compiled {
            Ok(()) => nvrtc::get_ptx(program).map_err(|_| failed("nvrtcGetPTX failed")),
            Err(_) => {
                Err(failed(&format!("for compute capability {major}.{minor}: {}", log_of(program))))
            }
        };
        let _ = nvrtc::destroy_program(program);
        ptx
    }
}

/// The newest architecture that NVRTC supports among those older than `own`. `None` if it
/// supports `own` itself, or nothing older.
///
/// # Safety
/// NVRTC must be loaded.
pub(super) unsafe fn newest_known(own: u32) -> Option<u32> {
    let mut count = 0;
    // SAFETY: the caller promises that NVRTC is loaded; the list has room for as many
    // entries as NVRTC counted.
    let known = unsafe {
        nvrtc_sys::nvrtcGetNumSupportedArchs(&raw mut count).result().ok()?;
        let mut known = vec![0; usize::try_from(count).ok()?];
        nvrtc_sys::nvrtcGetSupportedArchs(known.as_mut_ptr()).result().ok()?;
        known
    };
    let known: Vec<u32> = known.into_iter().filter_map(|one| u32::try_from(one).ok()).collect();
    let before = known.iter().copied().filter(|&one| one < own).max();
    before.filter(|_| !known.contains(&own))
}

/// What NVRTC said while it compiled a program.
///
/// # Safety
/// The program must be alive.
pub(super) unsafe fn log_of(program: nvrtc_sys::nvrtcProgram) -> String {
    // SAFETY: the caller promises that the program is alive.
    match unsafe { nvrtc::get_program_log(program) } {
        // SAFETY: NVRTC terminates the log with a zero.
        Ok(log) => unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned(),
        Err(_) => "NVRTC gave no log".to_owned(),
    }
}
