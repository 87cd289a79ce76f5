//! The kernel library as its users name it: which kernels there are, what they read and write, and
//! what they cost per element on paper.
//!
//! Invariant: this room holds only facts about kernels. The code that runs them lives in `gpu`
//! (CUDA C) and `host` (CPU twins); what they cost on a machine is in a `profile`.

mod arguments;
mod effort;
mod grid;
mod own;

pub use arguments::{Arguments, Extent, NotTaken, Numbers};
pub use effort::{CORE_KEEPS, Effort, VALUES_PER_BIN};
pub use grid::Grid;
pub use own::{
    Code, CpuSide, Elementwise, Geometry, GpuSide, Image, OwnCost, OwnKernel, Parameter,
    ProductType, ReadAndWritten,
};

use crate::units::words;
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// A kernel of the library. All work on `f32`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Kernel {
        /// `out[i] = a * x[i]`
        Scale = "scale",
        /// `out[i] = a * x[i] + y[i]`
        Saxpy = "saxpy",
        /// `out[i]` = a polynomial of degree `degree` in `x[i]`, by Horner's rule: `degree`
        /// dependent fused multiply-adds per element.
        Polynomial = "polynomial",
        /// `out[0]` = the sum of all `x[i]`
        Sum = "sum",
        /// `out[i] = (x[i-1] + x[i] + x[i+1]) / 3`; beyond its ends, `x` has the value of its first
        /// or last element.
        Stencil = "stencil",
        /// `out[i]` = the value of a European call option on a stock at `price[i]`, with strike
        /// `strike[i]`, `years[i]` before it expires. [`BlackScholes`] has the other parameters.
        BlackScholes = "black-scholes",
        /// `out[i]` = the sum of `weights[t] * x[i + t - taps / 2]` over all `taps` weights. Beyond
        /// its ends, `x` has the value of its first or last element.
        Convolution = "convolution",
        /// `out[b]` = how many `x[i]` lie in the `b`th of `bins` equal parts of the interval from 0
        /// to 1. Values outside count in the first or the last part.
        Histogram = "histogram",
        /// `out[j][i] = x[i][j]`: a matrix with rows of `columns` elements is transposed.
        Transpose = "transpose",
        /// `out[i][j]` = the sum of `x[i][l] * y[l][j]`: a matrix of any number of rows, each of
        /// `inner` elements, times a square matrix. If the second factor were not square, times
        /// would depend on a third number besides those of elements and of `inner`.
        Matmul = "matmul",
        /// The discrete Fourier transform of each signal, not scaled. A signal has `length` points,
        /// each of a real and an imaginary part.
        Fft = "fft",
    }
}

/// Parameters of an option's value besides price, strike and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlackScholes;

impl BlackScholes {
    /// The riskless rate of interest, per year.
    pub const RATE: f32 = 0.02;
    /// The standard deviation of the price's logarithm over a year.
    pub const VOLATILITY: f32 = 0.3;
    /// Smaller inputs are raised to this value: the option's value has no limit where all inputs
    /// are 0.
    pub const LEAST: f32 = 1e-6;
}

/// How the output of a kernel relates to its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One output element for each input element.
    Map,
    /// As many output elements as [`Kernel::results`] gives, however many elements go in.
    Reduction,
}

words! {
    /// The NVIDIA library whose code a kernel runs on the device.
    pub enum Library {
        Cublas = "cuBLAS",
        Cufft = "cuFFT",
    }
}

impl Kernel {
    /// The largest number of arrays that any kernel reads.
    pub const MOST_INPUTS: usize = {
        let (mut most, mut index) = (0, 0);
        while index < Self::ALL.len() {
            let inputs = Self::ALL[index].inputs();
            most = if inputs > most { inputs } else { most };
            index += 1;
        }
        most
    };

    /// The library that launches this kernel with kernels of its own; `None` if the code is
    /// hallway's. A library takes memory for each stream that it works in. At the first call of a
    /// size it may load kernels and wait for the device meanwhile.
    pub const fn library(self) -> Option<Library> {
        match self {
            Self::Matmul => Some(Library::Cublas),
            Self::Fft => Some(Library::Cufft),
            _ => None,
        }
    }

    /// The names of the input arrays. Each kernel writes one array.
    pub const fn operands(self) -> &'static [&'static str] {
        match self {
            Self::Scale | Self::Polynomial | Self::Sum => &["x"],
            Self::Stencil | Self::Histogram | Self::Transpose | Self::Fft => &["x"],
            Self::Saxpy | Self::Matmul => &["x", "y"],
            Self::BlackScholes => &["price", "strike", "years"],
            Self::Convolution => &["x", "weights"],
        }
    }

    /// How many input arrays the kernel reads.
    pub const fn inputs(self) -> usize {
        self.operands().len()
    }

    /// The number of elements of an input that is read whole, because every output element may
    /// depend on all of it, such as weights. `None` for an input that the kernel walks along
    /// element by element.
    pub fn whole(self, input: usize, arguments: &Arguments) -> Option<u64> {
        let extent = u64::from(arguments.extent);
        match (self, input) {
            (Self::Convolution, 1) => Some(extent),
            (Self::Matmul, 1) => Some(extent * extent),
            _ => None,
        }
    }

    /// The inputs that the kernel walks along, without those that it reads whole.
    fn along(self) -> impl Iterator<Item = usize> {
        let arguments = Arguments::default();
        (0..self.inputs()).filter(move |&input| self.whole(input, &arguments).is_none())
    }

    /// The input that takes the output of the previous iteration, unless the task works in place:
    /// the last one that the kernel walks along.
    pub fn iterated(self) -> usize {
        self.along().last().expect("every kernel goes along an input")
    }

    /// How the number of output elements relates to that of input elements.
    pub const fn shape(self) -> Shape {
        match self {
            Self::Sum | Self::Histogram => Shape::Reduction,
            _ => Shape::Map,
        }
    }

    /// How many elements a reduction writes.
    pub const fn results(self, arguments: &Arguments) -> u64 {
        match self {
            Self::Histogram => arguments.extent as u64,
            _ => 1,
        }
    }

    /// Whether it is a reduction to one number, whatever its arguments.
    pub const fn leaves_one_number(self) -> bool {
        matches!(self.shape(), Shape::Reduction) && self.extent().is_none()
    }

    /// The kernel that makes one number of those that parts of the data leave.
    pub const fn joined_by(self) -> Self {
        match self {
            // Counts add up.
            Self::Histogram => Self::Sum,
            _ => self,
        }
    }

    /// How many elements form one indivisible group, such as a row. Arrays hold whole groups, and
    /// chunks end between groups.
    pub const fn grain(self, arguments: &Arguments) -> u64 {
        match self {
            Self::Transpose | Self::Matmul => arguments.extent as u64,
            Self::Fft => 2 * arguments.extent as u64,
            _ => 1,
        }
    }

    /// Whether the work can be cut into chunks along the elements.
    pub const fn can_be_cut(self) -> bool {
        !matches!(self, Self::Transpose)
    }

    /// Whether every output element depends on the elements of the inputs in its own place, and on
    /// no more than its [halo](Self::halo) besides. Such work may be cut anywhere.
    pub fn goes_by_elements(self) -> bool {
        let arguments = Arguments::of(self);
        let reads_none_whole = self.along().count() == self.inputs();
        let is_map = self.shape() == Shape::Map && self.can_be_cut();
        is_map && reads_none_whole && self.grain(&arguments) == 1
    }

    /// How many neighbours on each side an output element depends on.
    pub const fn halo(self, arguments: &Arguments) -> u64 {
        match self {
            Self::Stencil => 1,
            Self::Convolution => arguments.extent as u64 / 2,
            _ => 0,
        }
    }

    /// Whether the output may be the same memory as an input.
    pub const fn works_in_place(self) -> bool {
        matches!(self, Self::Scale | Self::Saxpy | Self::Polynomial | Self::BlackScholes)
    }

    /// Whether the kernel takes the factor `a`.
    pub const fn has_factor(self) -> bool {
        matches!(self, Self::Scale | Self::Saxpy)
    }

    /// The whole-number argument the kernel takes, if it takes one.
    pub const fn extent(self) -> Option<Extent> {
        match self {
            // Higher degrees would say nothing new about a machine.
            Self::Polynomial => Some(Extent::up_to("degree", 65_536, 16)),
            // The number is odd because one tap is in the middle.
            Self::Convolution => {
                Some(Extent { numbers: Numbers::Odd, ..Extent::up_to("taps", 1025, 9) })
            }
            // A block keeps its counters in shared memory, which bounds their number.
            Self::Histogram => Some(Extent::up_to("bins", 4096, 256)),
            Self::Transpose => Some(Extent::up_to("columns", 65_536, 1024)),
            Self::Matmul => Some(Extent::up_to("inner", 16_384, 1024)),
            // Other lengths take other algorithms, with other costs. On the CPU one thread
            // transforms a whole signal; longer ones would have to be shared among threads.
            Self::Fft => Some(Extent {
                least: 2,
                numbers: Numbers::PowersOfTwo,
                ..Extent::up_to("length", 65_536, 1024)
            }),
            _ => None,
        }
    }

    /// The scalar arguments the kernel takes, by name.
    pub fn arguments(self) -> Vec<&'static str> {
        let factor = self.has_factor().then_some("a");
        factor.into_iter().chain(self.extent().map(|extent| extent.name)).collect()
    }

    /// Floating-point operations per element. A fused multiply-add counts as two.
    pub fn flops_per_element(self, arguments: &Arguments) -> f64 {
        let extent = f64::from(arguments.extent);
        match self {
            Self::Scale | Self::Sum | Self::Histogram => 1.0,
            Self::Saxpy => 2.0,
            Self::Polynomial | Self::Convolution | Self::Matmul => 2.0 * extent,
            // By convention 5 n log2(n) for n points, whatever the algorithm does.
            Self::Fft => 2.5 * extent.log2(),
            Self::Stencil => 3.0,
            Self::Transpose => 0.0,
            // Each function counts as many operations as its series in the CPU twin has.
            Self::BlackScholes => 136.0,
        }
    }

    /// Bytes read and written per element when each array is touched once. Inputs that are read
    /// whole do not count; [`Kernel::whole_bytes`] has them.
    pub fn bytes_per_element(self) -> u64 {
        let written = match self.shape() {
            Shape::Map => 1,
            Shape::Reduction => 0,
        };
        4 * (self.along().count() as u64 + written)
    }

    /// Bytes of the inputs that are read whole.
    pub fn whole_bytes(self, arguments: &Arguments) -> u64 {
        4 * (0..self.inputs()).filter_map(|input| self.whole(input, arguments)).sum::<u64>()
    }
}

/// A kernel with the argument that its cost depends on. `extent` is 0 for kernels without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub kernel: Kernel,
    /// Older files call it `degree`, after the only kernel that once had one.
    #[serde(alias = "degree")]
    pub extent: u32,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            0 => self.kernel.fmt(f),
            extent => write!(f, "{} {extent}", self.kernel),
        }
    }
}

impl Variant {
    /// The variant of `kernel` that these arguments select.
    pub fn of(kernel: Kernel, arguments: &Arguments) -> Self {
        let extent = kernel.extent().map_or(0, |_| arguments.extent);
        Self { kernel, extent }
    }

    /// The quantity in which the kernel's time is linear between two calibrated extents.
    pub fn measure(self) -> f64 {
        let extent = f64::from(self.extent);
        match self.kernel {
            // Other rows leave a transpose's bytes as they are; an FFT makes log2(length) passes.
            Kernel::Transpose | Kernel::Fft => extent.log2(),
            _ => extent,
        }
    }

    /// Bytes that the kernel touches on `elements` elements when it touches each array once.
    pub fn bytes(self, elements: u64) -> u64 {
        let along = self.kernel.bytes_per_element().saturating_mul(elements);
        along.saturating_add(self.kernel.whole_bytes(&self.arguments()))
    }

    /// Whether, on the CPU, a team of threads shares `elements` elements in a plan whose working
    /// set is `footprint` bytes. If not, one thread does all the work.
    pub fn is_shared(self, elements: u64, footprint: u64) -> bool {
        let effort = Effort::of(self.kernel, &self.arguments()).with_footprint(footprint);
        effort.is_shared(elements as usize)
    }

    /// Arguments that make the kernel this variant; all others are the default ones.
    pub fn arguments(self) -> Arguments {
        Arguments { extent: self.extent, ..Arguments::default() }
    }
}
