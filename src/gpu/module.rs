//! The kernel library in CUDA C, compiled once per process.

use super::error::{GpuError, GpuResult, check};
use crate::kernels::Kernel;
use cudarc::driver::sys;
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

const SOURCE: &str = include_str!("kernels.cu");

/// A loaded module with a handle for every kernel that was looked up.
pub(super) struct Module {
    handle: sys::CUmodule,
    /// Handles of kernels that are written in `kernels.cu`.
    functions: RefCell<Vec<(Kernel, sys::CUfunction)>>,
    blocker: Option<sys::CUfunction>,
    /// The zero-terminated PTX that the module was loaded from.
    pub image: Vec<u8>,
}

impl Module {
    /// For a compute capability, as NVRTC counts it: 90 for 9.0.
    pub fn compile(capability: u32) -> GpuResult<Self> {
        let source = Source { text: SOURCE, file: "kernels.cu", headers: &[], entry: None };
        let (image, _) = source.compiled(capability)?.map_err(|log| {
            let (major, minor) = (capability / 10, capability % 10);
            GpuError::Compile { log: format!("for compute capability {major}.{minor}: {log}") }
        })?;
        Self::load(image)
    }

    /// Loads a module and looks up every kernel in it.
    pub fn load(image: Vec<u8>) -> GpuResult<Self> {
        let mut module = Self::bare(image)?;
        for kernel in Kernel::ALL.into_iter().filter(|&kernel| kernel.library().is_none()) {
            module.known_or_found(kernel)?;
        }
        module.blocker = Some(module.blocker()?);
        Ok(module)
    }

    /// Loads a module and looks nothing up: the driver loads a kernel's code when it is asked for.
    pub fn bare(image: Vec<u8>) -> GpuResult<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current, and the image is zero-terminated PTX of NVRTC.
        let result = unsafe { sys::cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) };
        if result == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
            let log = "NVRTC is newer than the driver: update the driver, or put an older \
                       toolkit's libnvrtc first in LD_LIBRARY_PATH";
            return Err(GpuError::Compile { log: log.to_owned() });
        }
        check("cuModuleLoadData", result)?;
        Ok(Self { handle, functions: RefCell::default(), blocker: None, image })
    }

    /// A kernel that was looked up before.
    pub fn known(&self, kernel: Kernel) -> Option<sys::CUfunction> {
        let functions = self.functions.borrow();
        functions.iter().find(|(one, _)| *one == kernel).map(|&(_, function)| function)
    }

    /// A kernel that is looked up if it was not before.
    pub fn known_or_found(&self, kernel: Kernel) -> GpuResult<sys::CUfunction> {
        if let Some(known) = self.known(kernel) {
            return Ok(known);
        }
        let function = self.of(kernel)?;
        self.functions.borrow_mut().push((kernel, function));
        Ok(function)
    }

    /// The kernel that holds a stream.
    pub fn blocker(&self) -> GpuResult<sys::CUfunction> {
        self.blocker.map_or_else(|| self.function("hold_until_released"), Ok)
    }

    /// Looks up a kernel that is written in `kernels.cu`.
    pub fn of(&self, kernel: Kernel) -> GpuResult<sys::CUfunction> {
        // C allows no dashes in names.
        self.function(&kernel.name().replace('-', "_"))
    }

    /// Looks up a kernel by its name in the code.
    pub fn function(&self, name: &str) -> GpuResult<sys::CUfunction> {
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

/// Source in CUDA C++ for NVRTC.
pub(super) struct Source<'s> {
    pub text: &'s str,
    pub file: &'s str,
    /// Files that it includes: their names and their texts.
    pub headers: &'s [(String, String)],
    /// The kernel whose name in the PTX is wanted.
    pub entry: Option<&'s str>,
}

impl Source<'_> {
    /// Compiles it for a compute capability, as NVRTC counts it, or for the newest older one that
    /// NVRTC knows: its zero-terminated PTX, and the name that the entry has there. The inner error
    /// is what is wrong with the source.
    ///
    /// # Errors
    /// If there is no NVRTC.
    pub fn compiled(&self, architecture: u32) -> GpuResult<Result<(Vec<u8>, String), String>> {
        // SAFETY: the call only asks the dynamic loader. Without NVRTC, any other call would panic.
        if !unsafe { nvrtc_sys::is_culib_present() } {
            return Err(GpuError::NoCompiler);
        }
        Ok(self.compiled_by_nvrtc(architecture))
    }

    fn compiled_by_nvrtc(&self, architecture: u32) -> Result<(Vec<u8>, String), String> {
        let c_string =
            |text: &str| CString::new(text).map_err(|_| "it contains a NUL byte".to_owned());
        let (source, file) = (c_string(self.text)?, c_string(self.file)?);
        let entry = self.entry.map(c_string).transpose()?;
        let of = |which: fn(&(String, String)) -> &String| {
            self.headers.iter().map(|one| c_string(which(one))).collect::<Result<Vec<_>, _>>()
        };
        let (names, texts) = (of(|one| &one.0)?, of(|one| &one.1)?);
        let pointers =
            |all: &[CString]| all.iter().map(|one| one.as_ptr()).collect::<Vec<*const c_char>>();
        let (names, texts) = (pointers(&names), pointers(&texts));
        let count = i32::try_from(names.len()).map_err(|_| "it has too many headers".to_owned())?;
        let mut program = std::ptr::null_mut();
        // SAFETY: all strings are zero-terminated and live until the program is created.
        let created = unsafe {
            let (source, file) = (source.as_ptr(), file.as_ptr());
            let (texts, names) = (texts.as_ptr(), names.as_ptr());
            nvrtc_sys::nvrtcCreateProgram(&raw mut program, source, file, count, texts, names)
        };
        created.result().map_err(|error| format!("nvrtcCreateProgram failed: {error}"))?;
        let options = |number: u32| {
            [format!("--gpu-architecture=compute_{number}"), "--std=c++17".to_owned()]
        };
        // SAFETY: the program was created above and is destroyed once, below.
        unsafe {
            let named = entry.as_ref().map_or(Ok(()), |entry| {
                nvrtc_sys::nvrtcAddNameExpression(program, entry.as_ptr()).result()
            });
            let mut compiled =
                named.and_then(|()| nvrtc::compile_program(program, &options(architecture)));
            // If NVRTC is older than the GPU, an older architecture's PTX runs, too.
            if compiled.is_err()
                && let Some(older) = newest_known(architecture)
            {
                compiled = nvrtc::compile_program(program, &options(older));
            }
            let result = match compiled {
                Ok(()) => lowered(program, entry.as_deref()),
                Err(_) => Err(log_of(program)),
            };
            let _ = nvrtc::destroy_program(program);
            result
        }
    }
}

/// The PTX of a compiled program, and the name that the entry has in it.
///
/// # Safety
/// The program must be alive and compiled.
unsafe fn lowered(
    program: nvrtc_sys::nvrtcProgram,
    entry: Option<&CStr>,
) -> Result<(Vec<u8>, String), String> {
    let mut named = String::new();
    if let Some(entry) = entry {
        let mut name = std::ptr::null();
        // SAFETY: the caller promises that the program is alive; NVRTC keeps the name as long.
        unsafe {
            let found = nvrtc_sys::nvrtcGetLoweredName(program, entry.as_ptr(), &raw mut name);
            let entry = entry.to_string_lossy();
            found.result().map_err(|_| format!("it has no kernel `{entry}`"))?;
            named = CStr::from_ptr(name).to_string_lossy().into_owned();
        }
    }
    // SAFETY: the caller promises that the program is alive and compiled.
    let ptx = unsafe { nvrtc::get_ptx(program) };
    let ptx = ptx.map_err(|error| format!("nvrtcGetPTX failed: {error}"))?;
    Ok((ptx.into_iter().map(|byte| byte.cast_unsigned()).collect(), named))
}

/// The newest architecture that NVRTC supports among those older than `own`. `None` if it
/// supports `own` itself, or nothing older.
///
/// # Safety
/// NVRTC must be loaded.
unsafe fn newest_known(own: u32) -> Option<u32> {
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
unsafe fn log_of(program: nvrtc_sys::nvrtcProgram) -> String {
    // SAFETY: the caller promises that the program is alive.
    match unsafe { nvrtc::get_program_log(program) } {
        // SAFETY: NVRTC terminates the log with a zero.
        Ok(log) => unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned(),
        Err(_) => "NVRTC produced no log".to_owned(),
    }
}
