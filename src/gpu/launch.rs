//! Launches of kernels: of our own library and of NVIDIA's.

use super::error::{GpuResult, check};
use super::libraries::{Blas, BlasApi, FftApi, FftPlan};
use super::own::OwnCode;
use crate::kernels::{Arguments, Grid, Kernel, Library, ProductType};
use cudarc::driver::sys;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_void;

/// The arguments of every kernel in `kernels.cu`. The layout is that of `struct Work`
/// there.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Work {
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

impl Work {
    pub fn new(
        inputs: &[u64],
        (out, workspace): (u64, u64),
        (count, input_count, lead): (u64, u64, u64),
        &Arguments { a, extent }: &Arguments,
    ) -> Self {
        let [x, y, z] = [0, 1, 2].map(|at| inputs.get(at).copied().unwrap_or(0));
        Self { x, y, z, out, workspace, count, input_count, lead, a, extent }
    }
}

/// Whether this machine has the library that a kernel needs besides a driver and NVRTC.
///
/// # Errors
/// [`super::GpuError::NoLibrary`] if it has not.
pub fn supports(kernel: Kernel) -> GpuResult {
    match kernel.library() {
        Some(Library::Cublas) => BlasApi::get().map(|_| ()),
        Some(Library::Cufft) => FftApi::get().map(|_| ()),
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
    fn blas(&mut self, stream: sys::CUstream) -> GpuResult<&Blas> {
        if self.blas.is_none() {
            self.blas = Some(Blas::new(stream)?);
        }
        Ok(self.blas.as_ref().expect("just made"))
    }

    fn fft(&mut self, stream: sys::CUstream, work: &Work) -> GpuResult<&FftPlan> {
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
pub struct Launch(pub(super) Code);

/// `Own` is a user's kernel. A product is one by cuBLAS: its type, its rows, inner elements and
/// columns, and the addresses of the factors and of the result.
pub(super) enum Code {
    Ours { function: sys::CUfunction, grid: Grid, work: Work },
    Library(Library, Work),
    Own(OwnCode),
    Product(ProductType, [u64; 3], [u64; 3]),
}

impl Launch {
    /// Registers of a thread, and shared memory that the code declares, of a user's kernel.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn takes(&self) -> GpuResult<[u32; 2]> {
        match &self.0 {
            Code::Own(own) => own.function.takes(),
            _ => Ok([0; 2]),
        }
    }

    /// Creates what a library keeps for a stream and this launch's shape, if it is not
    /// there yet.
    pub(super) fn prepare(
        &self,
        stream: sys::CUstream,
        libraries: &mut StreamLibraries,
    ) -> GpuResult {
        match &self.0 {
            Code::Ours { .. } | Code::Own(_) => Ok(()),
            Code::Library(Library::Cublas, _) | Code::Product(..) => {
                libraries.blas(stream).map(|_| ())
            }
            Code::Library(Library::Cufft, work) => libraries.fft(stream, work).map(|_| ()),
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
    ) -> GpuResult {
        // SAFETY: the caller promises that the memory is valid. Our kernels take one
        // `struct Work`, which the driver copies.
        unsafe {
            match &self.0 {
                Code::Ours { function, grid, work } => {
                    let mut arguments = [(&raw const *work).cast_mut().cast::<c_void>()];
                    start(*function, grid, stream, &mut arguments)
                }
                Code::Own(own) => own.start(stream),
                Code::Product(of, shape, matrices) => {
                    libraries.blas(stream)?.multiply_as(*of, *matrices, *shape)
                }
                Code::Library(Library::Cublas, work) => {
                    let inner = u64::from(work.extent);
                    let matrices = [work.x, work.y, work.out];
                    libraries.blas(stream)?.multiply(matrices, work.count / inner, inner)
                }
                Code::Library(Library::Cufft, work) => {
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
) -> GpuResult {
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
