//! cuBLAS and cuFFT: opened when a kernel needs them, and only then.
//!
//! Nine functions are declared by hand. The bindings' tables of all functions take long
//! to compile, and they know no library of CUDA 13.

use super::error::{GpuError, GpuResult};
use crate::kernels::ProductType;
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

pub(super) const SUCCESS: c_int = 0;

pub(super) fn check(call: &'static str, status: c_int) -> GpuResult {
    if status == SUCCESS {
        return Ok(());
    }
    Err(GpuError::Call { call, name: format!("status {status}") })
}

/// Converts a count to the libraries' 32-bit integers.
fn int(call: &'static str, count: u64) -> GpuResult<c_int> {
    let too_many = |_| GpuError::Call { call, name: format!("{count} exceeds its 32-bit counts") };
    c_int::try_from(count).map_err(too_many)
}

/// Opens the first of these files that exists. It is never closed, because its functions
/// are used until the process ends.
pub(super) fn open(names: &[&str]) -> Option<&'static Library> {
    // SAFETY: these are NVIDIA's libraries, whose initialisers may run at any time.
    let found = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok())?;
    Some(Box::leak(Box::new(found)))
}

pub(super) const CUBLAS: [&str; 4] =
    ["libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];
/// cuFFT's version numbers are one behind those of CUDA.
pub(super) const CUFFT: [&str; 4] =
    ["libcufft.so", "libcufft.so.12", "libcufft.so.11", "libcufft.so.10"];

type BlasHandle = *mut c_void;

/// The functions of cuBLAS that hallway uses (cuBLAS documentation, "cuBLAS Helper
/// Function Reference" and "`cublas<t>gemm()`").
pub(super) struct BlasApi {
    create: unsafe extern "C" fn(*mut BlasHandle) -> c_int,
    destroy: unsafe extern "C" fn(BlasHandle) -> c_int,
    set_stream: unsafe extern "C" fn(BlasHandle, CUstream) -> c_int,
    sgemm: Sgemm,
    gemm_ex: GemmEx,
}

type Sgemm = unsafe extern "C" fn(
    BlasHandle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> c_int;

type GemmEx = unsafe extern "C" fn(
    BlasHandle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

impl BlasApi {
    /// # Errors
    /// [`GpuError::NoLibrary`] if the library is not there.
    pub fn get() -> GpuResult<&'static Self> {
        static FOUND: LazyLock<Option<BlasApi>> = LazyLock::new(BlasApi::load);
        FOUND.as_ref().ok_or(GpuError::NoLibrary {
            library: "cuBLAS",
            file: "libcublas",
            kernel: "matmul",
        })
    }

    fn load() -> Option<Self> {
        let library = open(&CUBLAS)?;
        // SAFETY: the types are those of the documentation.
        unsafe {
            Some(Self {
                create: *library.get(b"cublasCreate_v2\0").ok()?,
                destroy: *library.get(b"cublasDestroy_v2\0").ok()?,
                set_stream: *library.get(b"cublasSetStream_v2\0").ok()?,
                sgemm: *library.get(b"cublasSgemm_v2\0").ok()?,
                gemm_ex: *library.get(b"cublasGemmEx\0").ok()?,
            })
        }
    }
}

/// A cuBLAS handle for one stream.
pub(super) struct Blas {
    api: &'static BlasApi,
    handle: BlasHandle,
}

impl Blas {
    /// Creates a handle for a stream.
    ///
    /// # Errors
    /// If the library is missing or has too little memory.
    pub fn new(stream: CUstream) -> GpuResult<Self> {
        let api = BlasApi::get()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current, and `handle` is written on success.
        check("cublasCreate", unsafe { (api.create)(&raw mut handle) })?;
        let blas = Self { api, handle };
        // SAFETY: both handles are alive.
        check("cublasSetStream", unsafe { (api.set_stream)(handle, stream) })?;
        Ok(blas)
    }

    /// Computes `out = x y`, all row-major. `x` and `out` have `rows` rows; all three
    /// have `inner` columns, and `y` is square.
    ///
    /// # Safety
    /// The addresses must be valid for their matrices until the stream has executed the
    /// call.
    pub unsafe fn multiply(&self, [x, y, out]: [u64; 3], rows: u64, inner: u64) -> GpuResult {
        const AS_IT_IS: c_int = 0;
        let (rows, inner) = (int("cublasSgemm", rows)?, int("cublasSgemm", inner)?);
        let (one, zero) = (1.0_f32, 0.0_f32);
        // cuBLAS is column-major: it reads our row-major matrices as their transposes. As
        // (x y)ᵀ = yᵀ xᵀ, it gets `y` first and `x` second.
        // SAFETY: the caller promises that the addresses are valid; `one` and `zero` are
        // read before the call returns.
        check("cublasSgemm", unsafe {
            (self.api.sgemm)(
                self.handle,
                AS_IT_IS,
                AS_IT_IS,
                inner,
                rows,
                inner,
                &raw const one,
                y as *const f32,
                inner,
                x as *const f32,
                inner,
                &raw const zero,
                out as *mut f32,
                inner,
            )
        })
    }

    /// Computes `out = x y`, all row-major, for `x` of `rows` by `inner` and `y` of `inner` by
    /// `columns` elements (cuBLAS documentation, "`cublasGemmEx()`"). Sums are `f32`.
    ///
    /// # Safety
    /// The addresses must be valid for their matrices until the stream has executed the
    /// call.
    pub unsafe fn multiply_as(
        &self,
        of: ProductType,
        [x, y, out]: [u64; 3],
        [rows, inner, columns]: [u64; 3],
    ) -> GpuResult {
        const AS_IT_IS: c_int = 0;
        const DEFAULT_ALGORITHM: c_int = -1;
        // `cudaDataType` and `cublasComputeType_t`.
        let (data, compute) = match of {
            ProductType::F32 => (0, 68),
            ProductType::Tf32 => (0, 77),
            ProductType::Bf16 => (14, 68),
        };
        let call = "cublasGemmEx";
        let (rows, inner, columns) = (int(call, rows)?, int(call, inner)?, int(call, columns)?);
        let (one, zero) = (1.0_f32, 0.0_f32);
        // Column-major, it reads our matrices as their transposes: see `multiply`.
        // SAFETY: the caller promises that the addresses are valid; `one` and `zero` are
        // read before the call returns.
        check(call, unsafe {
            (self.api.gemm_ex)(
                self.handle,
                AS_IT_IS,
                AS_IT_IS,
                columns,
                rows,
                inner,
                (&raw const one).cast(),
                y as *const c_void,
                data,
                columns,
                x as *const c_void,
                data,
                inner,
                (&raw const zero).cast(),
                out as *mut c_void,
                data,
                columns,
                compute,
                DEFAULT_ALGORITHM,
            )
        })
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle was created in `new` and is destroyed only here.
        unsafe { (self.api.destroy)(self.handle) };
    }
}

type FftHandle = c_int;

/// The functions of cuFFT that hallway uses (cuFFT documentation, "cuFFT API Reference").
pub(super) struct FftApi {
    plan_many: PlanMany,
    set_stream: unsafe extern "C" fn(FftHandle, CUstream) -> c_int,
    exec: unsafe extern "C" fn(FftHandle, *mut c_void, *mut c_void, c_int) -> c_int,
    destroy: unsafe extern "C" fn(FftHandle) -> c_int,
}

type PlanMany = unsafe extern "C" fn(
    *mut FftHandle,
    c_int,
    *mut c_int,
    *mut c_int,
    c_int,
    c_int,
    *mut c_int,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

impl FftApi {
    /// # Errors
    /// [`GpuError::NoLibrary`] if the library is not there.
    pub fn get() -> GpuResult<&'static Self> {
        static FOUND: LazyLock<Option<FftApi>> = LazyLock::new(FftApi::load);
        FOUND.as_ref().ok_or(GpuError::NoLibrary {
            library: "cuFFT",
            file: "libcufft",
            kernel: "fft",
        })
    }

    fn load() -> Option<Self> {
        let library = open(&CUFFT)?;
        // SAFETY: the types are those of the documentation.
        unsafe {
            Some(Self {
                plan_many: *library.get(b"cufftPlanMany\0").ok()?,
                set_stream: *library.get(b"cufftSetStream\0").ok()?,
                exec: *library.get(b"cufftExecC2C\0").ok()?,
                destroy: *library.get(b"cufftDestroy\0").ok()?,
            })
        }
    }
}

/// A cuFFT plan for a number of signals of one length, in one stream.
pub(super) struct FftPlan {
    api: &'static FftApi,
    handle: FftHandle,
}

impl FftPlan {
    /// Plans transforms of `signals` contiguous signals of `length` complex points each.
    ///
    /// # Errors
    /// If the library is missing, has too little memory, or the numbers exceed its 32-bit
    /// counts.
    pub fn new(stream: CUstream, length: u64, signals: u64) -> GpuResult<Self> {
        const COMPLEX_TO_COMPLEX: c_int = 0x29;
        let api = FftApi::get()?;
        let mut length = int("cufftPlanMany", length)?;
        let signals = int("cufftPlanMany", signals)?;
        let (mut handle, none) = (0, std::ptr::null_mut());
        // Without explicit layouts, cuFFT takes the signals to be contiguous.
        // SAFETY: a context is current; `length` is read and `handle` written before the
        // call returns.
        check("cufftPlanMany", unsafe {
            (api.plan_many)(
                &raw mut handle,
                1,
                &raw mut length,
                none,
                1,
                length,
                none,
                1,
                length,
                COMPLEX_TO_COMPLEX,
                signals,
            )
        })?;
        let plan = Self { api, handle };
        // SAFETY: both handles are alive.
        check("cufftSetStream", unsafe { (api.set_stream)(handle, stream) })?;
        Ok(plan)
    }

    /// Transforms all signals forward, out of place.
    ///
    /// # Safety
    /// The addresses must be valid for all signals until the stream has executed the
    /// call.
    pub unsafe fn transform(&self, x: u64, out: u64) -> GpuResult {
        const FORWARD: c_int = -1;
        // SAFETY: the caller promises that the addresses are valid; out of place, the
        // input is only read.
        let status =
            unsafe { (self.api.exec)(self.handle, x as *mut c_void, out as *mut c_void, FORWARD) };
        check("cufftExecC2C", status)
    }
}

impl Drop for FftPlan {
    fn drop(&mut self) {
        // SAFETY: the plan was made in `new` and is destroyed only here.
        unsafe { (self.api.destroy)(self.handle) };
    }
}
