//! The kernel library as its users name it: which kernels there are, what they
//! read and write, and what they cost per element on paper.
//!
//! Invariant: only facts about kernels. The code that runs them lives in `gpu`
//! (CUDA C) and `host` (CPU twins); what they cost on a machine is in a `profile`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A kernel of the library. All work on `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// `out[i] = a * x[i]`
    Scale,
    /// `out[i] = a * x[i] + y[i]`
    Saxpy,
    /// `out[i]` = a polynomial of degree `degree` in `x[i]`, by Horner's rule:
    /// `degree` dependent fused multiply-adds per element.
    Polynomial,
    /// `out[0]` = the sum of all `x[i]`
    Sum,
    /// `out[i] = (x[i-1] + x[i] + x[i+1]) / 3`, the ends repeated outwards.
    Stencil,
}

/// How the output of a kernel relates to its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One output element for each input element.
    Map,
    /// One output element in all.
    Reduction,
}

/// The scalar arguments of a kernel; a kernel ignores those that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// The factor of `scale` and `saxpy`.
    pub a: f32,
    /// The degree of `polynomial`.
    pub degree: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { a: 0.5, degree: 16 }
    }
}

/// A kernel as far as its cost goes: `degree` is 0 for kernels without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub kernel: Kernel,
    pub degree: u32,
}

impl Variant {
    pub fn of(kernel: Kernel, arguments: &Arguments) -> Self {
        let degree = if kernel == Kernel::Polynomial { arguments.degree } else { 0 };
        Self { kernel, degree }
    }

    /// Arguments that make the kernel this variant.
    pub fn arguments(self) -> Arguments {
        Arguments { degree: self.degree, ..Arguments::default() }
    }
}

impl Kernel {
    pub const ALL: [Self; 5] =
        [Self::Scale, Self::Saxpy, Self::Polynomial, Self::Sum, Self::Stencil];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Saxpy => "saxpy",
            Self::Polynomial => "polynomial",
            Self::Sum => "sum",
            Self::Stencil => "stencil",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// How many input arrays the kernel reads. Each kernel writes one array.
    pub const fn inputs(self) -> usize {
        match self {
            Self::Saxpy => 2,
            Self::Scale | Self::Polynomial | Self::Sum | Self::Stencil => 1,
        }
    }

    pub const fn shape(self) -> Shape {
        match self {
            Self::Sum => Shape::Reduction,
            Self::Scale | Self::Saxpy | Self::Polynomial | Self::Stencil => Shape::Map,
        }
    }

    /// How many neighbours on each side an output element depends on.
    pub const fn halo(self) -> u64 {
        match self {
            Self::Stencil => 1,
            Self::Scale | Self::Saxpy | Self::Polynomial | Self::Sum => 0,
        }
    }

    /// Whether the output may be the same memory as an input.
    pub const fn works_in_place(self) -> bool {
        self.halo() == 0 && matches!(self.shape(), Shape::Map)
    }

    /// The scalar arguments the kernel takes, by name.
    pub const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Scale | Self::Saxpy => &["a"],
            Self::Polynomial => &["degree"],
            Self::Sum | Self::Stencil => &[],
        }
    }

    /// Floating-point operations per element; a fused multiply-add is two.
    pub fn flops_per_element(self, arguments: &Arguments) -> f64 {
        match self {
            Self::Scale | Self::Sum => 1.0,
            Self::Saxpy => 2.0,
            Self::Polynomial => 2.0 * f64::from(arguments.degree),
            Self::Stencil => 3.0,
        }
    }

    /// Bytes read and written per element when each array is touched once.
    pub const fn bytes_per_element(self) -> u64 {
        match self.shape() {
            Shape::Map => 4 * (self.inputs() as u64 + 1),
            Shape::Reduction => 4 * self.inputs() as u64,
        }
    }
}

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
    /// Blocks of a reduction: each leaves one number to combine.
    const REDUCTION_BLOCKS: u64 = 1024;

    /// What a small kernel of the driver's own takes up.
    pub const ONE_BLOCK: Self = Self {
        blocks: 1,
        threads_per_block: Self::THREADS,
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
    };

    /// The library's launch of a kernel over so many elements.
    pub fn of(kernel: Kernel, elements: u64) -> Self {
        let blocks = elements.div_ceil(u64::from(Self::THREADS) * Self::PER_THREAD).max(1);
        let (blocks, shared) = match kernel.shape() {
            Shape::Map => (blocks, 0),
            // One number for each warp, and a flag.
            Shape::Reduction => (blocks.min(Self::REDUCTION_BLOCKS), 4 * Self::THREADS / 32 + 4),
        };
        Self {
            // Of more, 16 TiB of elements, the launch itself would fail.
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            shared_bytes_per_block: shared,
            ..Self::ONE_BLOCK
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
