//! The kernel library on the device: compiled from CUDA C once per process.

use super::device::Device;
use super::error::{GpuError, check};
use super::memory::PinnedMemory;
use super::stream::Stream;
use crate::kernels::{Arguments, Grid, Kernel};
use crate::units::Bytes;
use cudarc::driver::sys;
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("kernels.cu");

/// A loaded module with a handle for every kernel.
pub(super) struct Module {
    handle: sys::CUmodule,
    functions: Vec<sys::CUfunction>,
    blocker: sys::CUfunction,
}

impl Module {
    pub fn compile(major: u32, minor: u32) -> Result<Self, GpuError> {
        let ptx = compile_ptx(major, minor)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: NVRTC returns terminated PTX text.
        let result = unsafe { sys::cuModuleLoadData(&raw mut handle, ptx.as_ptr().cast()) };
        check("cuModuleLoadData", result)?;
        let mut module = Self { handle, functions: Vec::new(), blocker: std::ptr::null_mut() };
        for kernel in Kernel::ALL {
            // C has no dashes in names.
            module.functions.push(module.function(&kernel.name().replace('-', "_"))?);
        }
        module.blocker = module.function("hold_until_released")?;
        Ok(module)
    }

    fn function(&self, name: &str) -> Result<sys::CUfunction, GpuError> {
        let name = CString::new(name).expect("kernel names have no zero byte");
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded; the handle is written on success.
        let result =
            unsafe { sys::cuModuleGetFunction(&raw mut function, self.handle, name.as_ptr()) };
        check("cuModuleGetFunction", result)?;
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `compile` and unloaded once, before the context goes.
        unsafe { sys::cuModuleUnload(self.handle) };
    }
}

fn compile_ptx(major: u32, minor: u32) -> Result<Vec<std::ffi::c_char>, GpuError> {
    // SAFETY: only asks the loader; without this, any call would panic.
    if !unsafe { nvrtc_sys::is_culib_present() } {
        return Err(GpuError::NoCompiler);
    }
    let failed = |what: &str| GpuError::Compile { log: what.to_owned() };
    let source = CString::new(SOURCE).expect("the source has no zero byte");
    let program =
        nvrtc::create_program(&source, None).map_err(|_| failed("nvrtcCreateProgram failed"))?;
    let options = [format!("--gpu-architecture=compute_{major}{minor}")];
    // SAFETY: the program was just created and is destroyed once, at the end.
    unsafe {
        let compiled = nvrtc::compile_program(program, &options);
        let ptx = match compiled {
            Ok(()) => nvrtc::get_ptx(program).map_err(|_| failed("nvrtcGetPTX failed")),
            Err(_) => Err(failed(&log_of(program))),
        };
        let _ = nvrtc::destroy_program(program);
        ptx
    }
}

/// # Safety
/// The program must be alive.
unsafe fn log_of(program: nvrtc_sys::nvrtcProgram) -> String {
    // SAFETY: as the caller promises; NVRTC terminates the log.
    match unsafe { nvrtc::get_program_log(program) } {
        Ok(log) => unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned(),
        Err(_) => "NVRTC gave no log".to_owned(),
    }
}

/// The arguments of every kernel of the library, as `struct Work` in the source.
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

/// A kernel with its arguments and geometry, ready to be started any number of times.
pub struct Launch {
    function: sys::CUfunction,
    grid: Grid,
    work: Work,
}

impl Launch {
    /// `inputs` and `output` are device addresses; `count` the elements worked
    /// on and `input_count` the elements of each input; `lead` as in
    /// [`crate::host`]; `workspace` the address of a reduction's workspace.
    ///
    /// # Errors
    /// If the kernel library cannot be compiled.
    pub fn new(
        device: &Device,
        (kernel, arguments): (Kernel, Arguments),
        inputs: &[u64],
        (output, workspace): (u64, u64),
        (count, input_count, lead): (u64, u64, u64),
    ) -> Result<Self, GpuError> {
        let module = device.module()?;
        let index = Kernel::ALL.iter().position(|&k| k == kernel).expect("ALL is all");
        Ok(Self {
            function: module.functions[index],
            grid: Grid::of(kernel, &arguments, count),
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

    pub(super) unsafe fn start(&self, stream: sys::CUstream) -> Result<(), GpuError> {
        let mut arguments = [(&raw const self.work).cast_mut().cast::<c_void>()];
        // SAFETY: the function takes one `struct Work`, which the driver copies.
        unsafe { start(self.function, &self.grid, stream, &mut arguments) }
    }
}

unsafe fn start(
    function: sys::CUfunction,
    grid: &Grid,
    stream: sys::CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), GpuError> {
    let arguments = arguments.as_mut_ptr();
    let none = std::ptr::null_mut();
    // Counts what the source declares once more: that is a few bytes, or nothing.
    let &Grid { blocks, threads_per_block: threads, shared_bytes_per_block: shared, .. } = grid;
    // SAFETY: as the caller promises.
    check("cuLaunchKernel", unsafe {
        sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, none)
    })
}

const ONE_THREAD: Grid = Grid { threads_per_block: 1, ..Grid::ONE_BLOCK };

/// Holds a stream until it is released, so that what is issued behind it
/// queues up and then runs as fast as the device can, not as fast as the host
/// can issue. One block spins on a word of host memory.
///
/// The kernel gives up by itself after [`Blocker::TIMEOUT`]: a call between
/// hold and release that waits for the device would otherwise hang for ever.
pub struct Blocker {
    flag: PinnedMemory,
    function: sys::CUfunction,
    epoch: u32,
}

impl Blocker {
    pub const TIMEOUT: Duration = Duration::from_secs(2);

    /// # Errors
    /// If the kernel library cannot be compiled or memory cannot be pinned.
    pub fn new(device: &Device) -> Result<Self, GpuError> {
        let flag = PinnedMemory::new(device, Bytes::new(64))?;
        let blocker = Self { flag, function: device.module()?.blocker, epoch: 0 };
        blocker.word().store(0, Ordering::SeqCst);
        Ok(blocker)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory is aligned and lives as long as `self`.
        unsafe { &*self.flag.as_mut_ptr().cast::<AtomicU32>() }
    }

    /// Makes everything issued to the stream from now on wait for the release.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn hold(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.epoch += 1;
        let mut flag = self.flag.as_mut_ptr() as u64;
        let mut epoch = self.epoch;
        let mut timeout = Self::TIMEOUT.as_nanos() as u64;
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut flag).cast(), (&raw mut epoch).cast(), (&raw mut timeout).cast()];
        // SAFETY: with unified addressing a pinned host address is a device
        // address too; the flag outlives the kernel because `release` follows.
        unsafe { start(self.function, &ONE_THREAD, stream.raw(), &mut arguments) }
    }

    pub fn release(&self) {
        self.word().store(self.epoch, Ordering::SeqCst);
    }

    /// Waits for a stream with a limit, for use where a hang is conceivable.
    ///
    /// # Errors
    /// [`GpuError::Timeout`], or what the driver reports.
    pub fn finish(stream: &Stream) -> Result<(), GpuError> {
        let start = Instant::now();
        let limit = Self::TIMEOUT * 10;
        while !stream.is_done()? {
            if start.elapsed() > limit {
                return Err(GpuError::Timeout { seconds: limit.as_secs() });
            }
            std::hint::spin_loop();
        }
        Ok(())
    }
}
