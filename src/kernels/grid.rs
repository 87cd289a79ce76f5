//! How the library launches each kernel on a device.

use super::{Arguments, Kernel};

/// The shape of a launch, and what one of its blocks holds of a multiprocessor
/// for as long as it runs.
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
    /// The most blocks of a reduction: each leaves a part to combine.
    pub const REDUCTION_BLOCKS: u64 = 1024;

    /// What a small kernel of the driver's own takes up.
    pub const ONE_BLOCK: Self = Self {
        blocks: 1,
        threads_per_block: Self::THREADS,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    };

    /// The library's launch of a kernel over so many elements.
    pub fn of(kernel: Kernel, arguments: &Arguments, elements: u64) -> Self {
        let blocks = elements.div_ceil(u64::from(Self::THREADS) * Self::PER_THREAD).max(1);
        let blocks = match kernel {
            Kernel::Transpose => tiles(arguments, elements, TILE),
            Kernel::Matmul => tiles(arguments, elements, GEMM_TILE),
            Kernel::Fft => elements.div_ceil(FFT_ELEMENTS).max(1),
            Kernel::Sum | Kernel::Histogram => blocks.min(Self::REDUCTION_BLOCKS),
            _ => blocks,
        };
        Self {
            // Of more, 16 TiB of elements, the launch itself would fail.
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            registers_per_thread: registers(kernel),
            shared_bytes_per_block: shared_bytes(kernel, arguments),
            ..Self::ONE_BLOCK
        }
    }
}

impl Grid {
    /// Elements of device memory in which the blocks of a reduction combine what
    /// they have: zero before the first launch, and after each. One word more
    /// counts the blocks that are done.
    pub fn workspace(kernel: Kernel, arguments: &Arguments) -> Option<u64> {
        match kernel {
            Kernel::Sum => Some(Self::REDUCTION_BLOCKS + 1),
            Kernel::Histogram => Some(kernel.results(arguments) + 1),
            _ => None,
        }
    }
}

/// Elements on a side of what a block transposes.
const TILE: u32 = 32;

// cuBLAS and cuFFT choose kernels by size and device, and do not say which. What
// stands in for them is the shape that such kernels commonly have: a square of
// outputs in the registers and operands in shared memory, or whole signals there.
const GEMM_TILE: u32 = 128;
const FFT_ELEMENTS: u64 = 4096;

fn tiles(arguments: &Arguments, elements: u64, side: u32) -> u64 {
    let (columns, side) = (u64::from(arguments.extent.max(1)), u64::from(side));
    (elements / columns).div_ceil(side).max(1) * columns.div_ceil(side)
}

/// What the compiler takes for compute capability 9.0, rounded up to what the
/// hardware gives out: eight at a time, and 32 where fewer change nothing.
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
        Kernel::Sum => 4 * Grid::THREADS / 32 + 4,
        // A counter for each bin, and a flag.
        Kernel::Histogram => 4 * arguments.extent + 4,
        Kernel::Matmul => 32 << 10,
        Kernel::Fft => 16 << 10,
        // A tile whose rows do not begin in the same bank.
        Kernel::Transpose => 4 * TILE * (TILE + 1),
        // The block's inputs with their margins, and the weights, in fours.
        Kernel::Convolution => 16 * (Grid::THREADS + 2 * arguments.extent.div_ceil(4)),
        _ => 0,
    }
}
