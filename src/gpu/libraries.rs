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
    let name = format!("{count} does not fit in its 32-bit arguments");
    let too_many = |_| GpuError::Call { call, name };
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

/// The functions of a library that hallway uses, by their types in its documentation.
macro_rules! library {
    ($(#[$about:meta])* $Api:ident, $name:tt in $files:ident, for $kernel:literal;
     $($function:ident: $symbol:literal, ($($parameter:ty),*);)*) => {
        $(#[$about])*
        pub(super) struct $Api {
            $($function: unsafe extern "C" fn($($parameter),*) -> c_int,)*
        }

        impl $Api {
            /// # Errors
            /// [`GpuError::NoLibrary`] if the library is not there.
            pub fn get() -> GpuResult<&'static Self> {
                static FOUND: LazyLock<Option<$Api>> = LazyLock::new($Api::load);
                let [library, file] = $name;
                FOUND.as_ref().ok_or(GpuError::NoLibrary { library, file, kernel: $kernel })
            }

            fn load() -> Option<Self> {
                let library = open(&$files)?;
                // SAFETY: the types are those of the documentation.
                unsafe { Some(Self { $($function: *library.get($symbol).ok()?,)* }) }
            }
        }
    };
}

type BlasHandle = *mut c_void;

library! {
    /// cuBLAS (its documentation, "cuBLAS Helper Function Reference", "`cublas<t>gemm()`" and
    /// "`cublasGemmEx()`").
    BlasApi, ["cuBLAS", "libcublas"] in CUBLAS, for "matmul";
    create: b"cublasCreate_v2\0", (*mut BlasHandle);
    destroy: b"cublasDestroy_v2\0", (BlasHandle);
    set_stream: b"cublasSetStream_v2\0", (BlasHandle, CUstream);
    sgemm: b"cublasSgemm_v2\0", (
        BlasHandle, c_int, c_int, c_int, c_int, c_int, *const f32, *const f32, c_int, *const f32,
        c_int, *const f32, *mut f32, c_int
    );
    gemm_ex: b"cublasGemmEx\0", (
        BlasHandle, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int,
        *const c_void, c_int, c_int, *const c_void, *mut c_void, c_int, c_int, c_int, c_int
    );
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

library! {
    /// cuFFT (its documentation, "cuFFT API Reference").
    FftApi, ["cuFFT", "libcufft"] in CUFFT, for "fft";
    plan_many: b"cufftPlanMany\0", (
        *mut FftHandle, c_int, *mut c_int, *mut c_int, c_int, c_int, *mut c_int, c_int, c_int,
        c_int, c_int
    );
    set_stream: b"cufftSetStream\0", (FftHandle, CUstream);
    exec: b"cufftExecC2C\0", (FftHandle, *mut c_void, *mut c_void, c_int);
    destroy: b"cufftDestroy\0", (FftHandle);
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
