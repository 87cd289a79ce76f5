//! How the library launches each kernel on a device.

use super::{Arguments, Kernel, Shape};

/// The shape of a launch, and the resources of a multiprocessor that each of its blocks holds while
/// it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grid {
    pub blocks: u32,
    pub threads_per_block: u32,
    pub registers_per_thread: u32,
    pub shared_bytes_per_block: u32,
}

impl Grid {
    /// Elements that one thread of a map works on, as in the CUDA source.
    const PER_THREAD: u64 = 4;
    const THREADS: u32 = 256;
    /// The most blocks of a reduction. Each leaves a partial result that has to be combined with
    /// the others.
    pub const REDUCTION_BLOCKS: u64 = 1024;

    /// What a small kernel of the driver itself occupies.
    pub const ONE_BLOCK: Self = Self {
        blocks: 1,
        threads_per_block: Self::THREADS,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    };

    /// The launch that the library makes for a kernel over `elements` elements.
    pub fn of(kernel: Kernel, arguments: &Arguments, elements: u64) -> Self {
        let blocks = elements.div_ceil(u64::from(Self::THREADS) * Self::PER_THREAD).max(1);
        let blocks = match kernel {
            Kernel::Transpose => tiles(arguments, elements, TILE),
            Kernel::Matmul => tiles(arguments, elements, GEMM_TILE),
            Kernel::Fft => elements.div_ceil(FFT_ELEMENTS).max(1),
            _ if kernel.shape() == Shape::Reduction => blocks.min(Self::REDUCTION_BLOCKS),
            _ => blocks,
        };
        Self::launched(kernel, arguments, blocks)
    }

    /// The launch that cuBLAS is taken to make for a product of this many rows and columns.
    pub fn of_product(rows: u64, columns: u64) -> Self {
        let side = |length: u64| length.div_ceil(u64::from(GEMM_TILE)).max(1);
        let blocks = side(rows).saturating_mul(side(columns));
        Self::launched(Kernel::Matmul, &Arguments::default(), blocks)
    }

    fn launched(kernel: Kernel, arguments: &Arguments, blocks: u64) -> Self {
        Self {
            // More blocks than this, from 16 TiB of elements, could not be launched anyway.
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            registers_per_thread: registers(kernel),
            shared_bytes_per_block: shared_bytes(kernel, arguments),
            ..Self::ONE_BLOCK
        }
    }

    /// Elements of device memory in which the blocks of a reduction combine their partial results,
    /// with one more word that counts finished blocks. All are zero before the first launch and
    /// after each one; `None` if the kernel needs no such memory.
    pub fn workspace(kernel: Kernel, arguments: &Arguments) -> Option<u64> {
        let partial_results = match kernel.shape() {
            Shape::Map => return None,
            // Each block leaves its own.
            Shape::Reduction if kernel.leaves_one_number() => Self::REDUCTION_BLOCKS,
            // Blocks add theirs up.
            Shape::Reduction => kernel.results(arguments),
        };
        Some(partial_results + 1)
    }
}

/// The side, in elements, of the square tile that a block transposes.
const TILE: u32 = 32;

// cuBLAS and cuFFT choose kernels by size and device and do not tell which. These shapes are
// stand-ins that such kernels commonly have: for cuBLAS, a square of outputs in registers and the
// operands in shared memory; for cuFFT, whole signals in shared memory.
const GEMM_TILE: u32 = 128;
const FFT_ELEMENTS: u64 = 4096;

fn tiles(arguments: &Arguments, elements: u64, side: u32) -> u64 {
    let (columns, side) = (u64::from(arguments.extent.max(1)), u64::from(side));
    (elements / columns).div_ceil(side).max(1) * columns.div_ceil(side)
}

/// Registers per thread that the compiler uses for compute capability 9.0, rounded up to the eight
/// by which the hardware allocates them. Values below 32 count as 32, because fewer would change
/// nothing.
const fn registers(kernel: Kernel) -> u32 {
    match kernel {
        Kernel::Convolution => 40,
        Kernel::Fft => 64,
        Kernel::Matmul => 128,
        _ => 32,
    }
}

const fn shared_bytes(kernel: Kernel, arguments: &Arguments) -> u32 {
    match kernel {
        // One number for each warp, and a flag.
        _ if kernel.leaves_one_number() => 4 * Grid::THREADS / 32 + 4,
        // A counter for each bin, and a flag.
        Kernel::Histogram => 4 * arguments.extent + 4,
        Kernel::Matmul => 32 << 10,
        Kernel::Fft => 16 << 10,
        // A tile with a padded row length, so that the rows do not begin in the same bank.
        Kernel::Transpose => 4 * TILE * (TILE + 1),
        // The block's inputs with their margins, and the weights, as vectors of four floats.
        Kernel::Convolution => 16 * (Grid::THREADS + 2 * arguments.extent.div_ceil(4)),
        _ => 0,
    }
}
