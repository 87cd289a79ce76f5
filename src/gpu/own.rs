//! A user's own kernels: compiled or loaded once per device, and launched with any grid.
//!
//! All of it happens in the context that is current: the device's, which keeps what was loaded.

use super::error::{GpuError, GpuResult, check};
use super::module::Source;
use crate::kernels::{Code, Geometry, Image, Parameter};
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUjit_option as JitOption};
use std::ffi::{CString, c_void};
use std::rc::Rc;

/// A user's kernel on a device.
pub(super) struct OwnFunction {
    module: sys::CUmodule,
    function: sys::CUfunction,
    name: String,
}

/// Shared memory that a block may have without being asked for it specially.
const USUAL_SHARED: u32 = 48 << 10;

impl OwnFunction {
    /// Compiles the code if it is source, and loads it.
    /// For a GPU of this compute capability, as NVRTC counts it.
    pub fn load(architecture: u32, name: &str, code: &Code) -> GpuResult<Self> {
        let failed = |log: String| GpuError::OwnCode {
            kernel: name.to_owned(),
            file: code.file.clone(),
            log,
        };
        let (image, entry) = match &code.image {
            Image::Source { text, headers } => {
                let source = Source { text, file: &code.file, headers, entry: Some(&code.entry) };
                source.compiled(architecture)?.map_err(failed)?
            }
            Image::Ptx(text) => {
                let text = CString::new(text.as_str());
                let text = text.map_err(|_| failed("it contains a NUL byte".to_owned()))?;
                (text.into_bytes_with_nul(), code.entry.clone())
            }
            Image::Cubin(digits) => {
                let bytes = Image::bytes_of(digits);
                let bytes = bytes.ok_or_else(|| failed("it is not a cubin".to_owned()))?;
                (bytes, code.entry.clone())
            }
        };
        let module = load(&image).map_err(failed)?;
        let mut own = Self { module, function: std::ptr::null_mut(), name: name.into() };
        let entry_name = CString::new(entry);
        let entry_name =
            entry_name.map_err(|_| failed("the entry contains a NUL byte".to_owned()))?;
        // SAFETY: the module is loaded, the name is zero-terminated, and `function` is written on
        // success.
        let found =
            unsafe { sys::cuModuleGetFunction(&raw mut own.function, module, entry_name.as_ptr()) };
        if found == sys::CUresult::CUDA_ERROR_NOT_FOUND {
            let entry = &code.entry;
            return Err(failed(format!(
                "it has no kernel `{entry}`: write `entry` as in the code, and declare kernels \
                 in PTX and cubins `extern \"C\"`"
            )));
        }
        check("cuModuleGetFunction", found)?;
        Ok(own)
    }

    /// Registers of a thread, and shared memory that the code declares.
    pub fn takes(&self) -> GpuResult<[u32; 2]> {
        let takes = [Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, SHARED];
        let [registers, shared] = takes.map(|attribute| self.attribute(attribute));
        Ok([registers?, shared?])
    }

    fn attribute(&self, attribute: Attribute) -> GpuResult<u32> {
        let mut value = 0;
        // SAFETY: the function is alive, and `value` is written on success.
        let result = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, self.function) };
        check("cuFuncGetAttribute", result)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Blocks of this shape that a multiprocessor holds at once.
    pub fn resident(&self, threads: u32, shared_bytes: u32) -> GpuResult<u32> {
        let mut blocks = 0;
        let (threads, shared) = (threads.cast_signed(), shared_bytes as usize);
        // SAFETY: the function is alive, and `blocks` is written on success.
        let result = unsafe {
            let function = self.function;
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                function,
                threads,
                shared,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", result)?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Checks that the code fits a block of this shape, and asks for its shared memory.
    fn prepare(&self, geometry: &Geometry) -> GpuResult {
        let unfit = |problem| GpuError::OwnLaunch { kernel: self.name.clone(), problem };
        let (threads, most) = (geometry.threads(), self.attribute(THREADS)?);
        if threads > most {
            let [registers, _] = self.takes()?;
            return Err(unfit(format!(
                "its block has {threads} threads, but `__launch_bounds__` or its {registers} \
                 registers per thread limit it to {most}"
            )));
        }
        let shared = geometry.shared_bytes;
        if shared > USUAL_SHARED {
            let bytes = shared.cast_signed();
            // SAFETY: the function is alive.
            let result = unsafe { sys::cuFuncSetAttribute(self.function, DYNAMIC, bytes) };
            check("cuFuncSetAttribute", result).map_err(|_| {
                unfit(format!(
                    "its block needs {shared} bytes of shared memory, \
                     which the driver refuses"
                ))
            })?;
        }
        Ok(())
    }
}

const SHARED: Attribute = Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
const THREADS: Attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
const DYNAMIC: Attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

impl Drop for OwnFunction {
    fn drop(&mut self) {
        // SAFETY: the module was loaded in `load` and is unloaded only here, before its context is
        // released.
        unsafe { sys::cuModuleUnload(self.module) };
    }
}

/// A launch of a user's kernel: its parameters in words of eight bytes, and where each is.
pub(super) struct OwnCode {
    pub function: Rc<OwnFunction>,
    geometry: Geometry,
    /// What `pointers` point into.
    _words: Box<[u64]>,
    pointers: Box<[*mut c_void]>,
}

impl OwnCode {
    /// `reads` and `writes` are device addresses.
    pub fn new(
        function: Rc<OwnFunction>,
        geometry: Geometry,
        parameters: &[Parameter],
        [reads, writes]: [&[u64]; 2],
    ) -> GpuResult<Self> {
        function.prepare(&geometry)?;
        // CUDA's machines are little-endian: a word begins with its low bytes.
        let word = |parameter: &Parameter| match *parameter {
            Parameter::Reads(at) => reads[at],
            Parameter::Writes(at) => writes[at],
            Parameter::I32(value) => u64::from(value.cast_unsigned()),
            Parameter::U32(value) => u64::from(value),
            Parameter::I64(value) => value.cast_unsigned(),
            Parameter::U64(value) => value,
            Parameter::F32(value) => u64::from(value.to_bits()),
            Parameter::F64(value) => value.to_bits(),
        };
        let mut words: Box<[u64]> = parameters.iter().map(word).collect();
        let pointers = words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        Ok(Self { function, geometry, _words: words, pointers })
    }

    /// # Safety
    /// The memory that the launch names must be valid until the stream has executed it, and the
    /// parameters must be those that the code declares.
    pub unsafe fn start(&self, stream: sys::CUstream) -> GpuResult {
        let Geometry { grid: [x, y, z], block: [i, j, k], shared_bytes } = self.geometry;
        let (function, none) = (self.function.function, std::ptr::null_mut());
        let parameters = self.pointers.as_ptr().cast_mut();
        // SAFETY: the caller promises that the parameters are right; the driver copies them.
        check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(function, x, y, z, i, j, k, shared_bytes, stream, parameters, none)
        })
    }
}

/// Loads PTX or a cubin into the current context; what the driver says of it where it cannot.
fn load(image: &[u8]) -> Result<sys::CUmodule, String> {
    let mut log = vec![0_u8; 8 << 10];
    let mut options =
        [JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let size = std::ptr::without_provenance_mut(log.len());
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), size];
    let mut module = std::ptr::null_mut();
    // SAFETY: a context is current; the image is a cubin or zero-terminated PTX, and the log is as
    // long as stated.
    let result = unsafe {
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        sys::cuModuleLoadDataEx(&raw mut module, image.as_ptr().cast(), 2, options, values)
    };
    check("cuModuleLoadData", result).map(|()| module).map_err(|error| {
        let log = log.split(|&byte| byte == 0).next().unwrap_or_default();
        let log = String::from_utf8_lossy(log);
        if log.trim().is_empty() { error.to_string() } else { format!("{error}\n{}", log.trim()) }
    })
}
