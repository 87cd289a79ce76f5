//! Kernels on the device: the CUDA C library, compiled once per process, and launches of
//! it and of NVIDIA's libraries.

use super::device::Device;
use super::error::{GpuError, check};
use super::libraries::{Blas, FftPlan};
use crate::kernels::{Arguments, Grid, Kernel, Library};
use cudarc::driver::sys;
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{CStr, CString, c_void};

const SOURCE: &str = include_str!("kernels.cu");

/// A loaded module with a handle for every kernel.
pub(super) struct Module {
    handle: sys::CUmodule,
    /// One handle for each kernel that is written in `kernels.cu`.
    functions: Vec<(Kernel, sys::CUfunction)>,
    pub blocker: sys::CUfunction,
    /// The zero-terminated PTX that the module was loaded from.
    image: Vec<std::ffi::c_char>,
}

impl Module {
    pub fn compile(major: u32, minor: u32) -> Result<Self, GpuError> {
        Self::load(compile_ptx(major, minor)?)
    }

    /// Loads a second module from this one's PTX.
    pub fn load_again(&self) -> Result<Self, GpuError> {
        Self::load(self.image.clone())
    }

    fn load(image: Vec<std::ffi::c_char>) -> Result<Self, GpuError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current, and the image is zero-terminated PTX of NVRTC.
        let result = unsafe { sys::cuModuleLoadData(&raw mut handle, image.as_ptr().cast()) };
        if result == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
            let log = "NVRTC is newer than the driver: update the driver, or have LD_LIBRARY_PATH \
                       name an older toolkit's libnvrtc first";
            return Err(GpuError::Compile { log: log.to_owned() });
        }
        check("cuModuleLoadData", result)?;
        let (functions, blocker) = (Vec::new(), std::ptr::null_mut());
        let mut module = Self { handle, functions, blocker, image };
        for kernel in Kernel::ALL.into_iter().filter(|&kernel| kernel.library().is_none()) {
            // C allows no dashes in names.
            let function = module.function(&kernel.name().replace('-', "_"))?;
            module.functions.push((kernel, function));
        }
        module.blocker = module.function("hold_until_released")?;
        Ok(module)
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

/// Compiles the source for a compute capability, or for the newest older one that NVRTC
/// knows.
fn compile_ptx(major: u32, minor: u32) -> Result<Vec<std::ffi::c_char>, GpuError> {
    // SAFETY: the call only asks the dynamic loader. Without NVRTC, any other call would
    // panic.
    if !unsafe { nvrtc_sys::is_culib_present() } {
        return Err(GpuError::NoCompiler);
    }
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
        Err(_) => "NVRTC gave no log".to_owned(),
    }
}

/// The arguments of every kernel in `kernels.cu`. The layout is that of `struct Work`
/// there.
#[repr(C)]
#[derive(Clone, Copy)]
struct Work {
    x: u64,
    y: u64,
    z: u64,
    out: u64,
    workspace: u64,
    count: u64,
    input_count: u64,
    lead: u64,
    a: f32,
    extent: u32,
}

/// Whether this machine has the library that a kernel needs besides a driver and NVRTC.
///
/// # Errors
/// [`GpuError::NoLibrary`] if it has not.
pub fn supports(kernel: Kernel) -> Result<(), GpuError> {
    match kernel.library() {
        Some(Library::Cublas) => Blas::find(),
        Some(Library::Cufft) => FftPlan::find(),
        None => Ok(()),
    }
}

/// What NVIDIA's libraries keep for one stream.
#[derive(Default)]
pub(super) struct StreamLibraries {
    blas: Option<Blas>,
    /// Plans by the length and the number of their signals.
    ffts: BTreeMap<(u64, u64), FftPlan>,
}

impl StreamLibraries {
    fn blas(&mut self, stream: sys::CUstream) -> Result<&Blas, GpuError> {
        if self.blas.is_none() {
            self.blas = Some(Blas::new(stream)?);
        }
        Ok(self.blas.as_ref().expect("just made"))
    }

    fn fft(&mut self, stream: sys::CUstream, work: &Work) -> Result<&FftPlan, GpuError> {
        let length = u64::from(work.extent);
        Ok(match self.ffts.entry((length, work.count / (2 * length))) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                let (length, signals) = *place.key();
                place.insert(FftPlan::new(stream, length, signals)?)
            }
        })
    }
}

/// A kernel with its arguments and grid, ready to be launched any number of times.
pub struct Launch {
    code: Code,
    work: Work,
}

#[derive(Clone, Copy)]
enum Code {
    Ours { function: sys::CUfunction, grid: Grid },
    Library(Library),
}

impl Launch {
    /// `inputs` and `output` are device addresses, and `workspace` is that of a
    /// reduction's workspace. `count` is the number of elements worked on, `input_count`
    /// that of each input; `lead` is defined at [`crate::host::Team::run`].
    ///
    /// # Errors
    /// If the kernel library cannot be compiled; [`GpuError::NoLibrary`] if the kernel's
    /// library is missing.
    pub fn new(
        device: &Device,
        (kernel, arguments): (Kernel, Arguments),
        inputs: &[u64],
        (output, workspace): (u64, u64),
        (count, input_count, lead): (u64, u64, u64),
    ) -> Result<Self, GpuError> {
        supports(kernel)?;
        let code = match kernel.library() {
            Some(call) => Code::Library(call),
            None => {
                let mut functions = device.module()?.functions.iter();
                let found = functions.find(|&&(one, _)| one == kernel);
                let &(_, function) =
                    found.expect("every kernel that no library provides is in the source");
                Code::Ours { function, grid: Grid::of(kernel, &arguments, count) }
            }
        };
        Ok(Self {
            code,
            work: Work {
                x: inputs[0],
                y: inputs.get(1).copied().unwrap_or(0),
                z: inputs.get(2).copied().unwrap_or(0),
                out: output,
                workspace,
                count,
                input_count,
                lead,
                a: arguments.a,
                extent: arguments.extent,
            },
        })
    }

    /// Creates what a library keeps for a stream and this launch's shape, if it is not
    /// there yet.
    pub(super) fn prepare(
        &self,
        stream: sys::CUstream,
        libraries: &mut StreamLibraries,
    ) -> Result<(), GpuError> {
        match self.code {
            Code::Ours { .. } => Ok(()),
            Code::Library(Library::Cublas) => libraries.blas(stream).map(|_| ()),
            Code::Library(Library::Cufft) => libraries.fft(stream, &self.work).map(|_| ()),
        }
    }

    /// Launches the kernel in a stream.
    ///
    /// # Safety
    /// The memory that the launch names must be valid until the stream has executed it.
    pub(super) unsafe fn start(
        &self,
        stream: sys::CUstream,
        libraries: &mut StreamLibraries,
    ) -> Result<(), GpuError> {
        let work = &self.work;
        // SAFETY: the caller promises that the memory is valid. Our kernels take one
        // `struct Work`, which the driver copies.
        unsafe {
            match self.code {
                Code::Ours { function, grid } => {
                    let mut arguments = [(&raw const *work).cast_mut().cast::<c_void>()];
                    start(function, &grid, stream, &mut arguments)
                }
                Code::Library(Library::Cublas) => {
                    let inner = u64::from(work.extent);
                    let matrices = (work.x, work.y, work.out);
                    libraries.blas(stream)?.multiply(matrices, work.count / inner, inner)
                }
                Code::Library(Library::Cufft) => {
                    libraries.fft(stream, work)?.transform(work.x, work.out)
                }
            }
        }
    }
}

/// Launches a function of a module in a stream.
///
/// # Safety
/// The arguments must be those that the function declares, and memory that they name must
/// be valid until the stream has executed the launch.
pub(super) unsafe fn start(
    function: sys::CUfunction,
    grid: &Grid,
    stream: sys::CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), GpuError> {
    let arguments = arguments.as_mut_ptr();
    let none = std::ptr::null_mut();
    // Static shared memory that the source declares is counted a second time here; it is
    // a few bytes at most.
    let &Grid { blocks, threads_per_block: threads, shared_bytes_per_block: shared, .. } = grid;
    // SAFETY: the caller promises that function, stream and arguments fit together.
    check("cuLaunchKernel", unsafe {
        sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, none)
    })
}
