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
    /// `out[i]` = a polynomial of that degree in `x[i]`, by Horner's rule:
    /// `degree` dependent fused multiply-adds per element.
    Polynomial,
    /// `out[0]` = the sum of all `x[i]`
    Sum,
    /// `out[i] = (x[i-1] + x[i] + x[i+1]) / 3`, the ends repeated outwards.
    Stencil,
    /// `out[i]` = the value of a European call on a stock at `price[i]`, with
    /// strike `strike[i]`, `years[i]` ahead, as [`BlackScholes`] has it.
    BlackScholes,
}

/// What an option's value depends on besides price, strike and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlackScholes;

impl BlackScholes {
    /// The riskless rate of interest, per year.
    pub const RATE: f32 = 0.02;
    /// The standard deviation of the price's logarithm over a year.
    pub const VOLATILITY: f32 = 0.3;
    /// Inputs below count as this much: the value has no limit where all are 0.
    pub const LEAST: f32 = 1e-6;
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
    /// The whole number that [`Kernel::extent`] describes. Runs are kept by a
    /// digest of plans in which it was called after the only kernel that had one.
    #[serde(rename = "degree")]
    pub extent: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { a: 0.5, extent: 16 }
    }
}

/// The whole-number argument of a kernel: what its cost goes by besides the
/// number of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// As a scenario calls it.
    pub name: &'static str,
    pub least: u32,
    pub most: u32,
    /// Where the scenario does not say.
    pub default: u32,
}

impl Extent {
    /// The number, if it is one of those allowed.
    pub fn check(&self, number: f64) -> Option<u32> {
        let within = (f64::from(self.least)..=f64::from(self.most)).contains(&number);
        (within && number.fract() == 0.0).then_some(number as u32)
    }
}

impl fmt::Display for Extent {
    /// What is allowed: `a whole number from 1 to 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.least, self.most)
    }
}

/// A kernel as far as its cost goes: `extent` is 0 for kernels without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub kernel: Kernel,
    /// Older files call it by the only one there was.
    #[serde(alias = "degree")]
    pub extent: u32,
}

impl Variant {
    pub fn of(kernel: Kernel, arguments: &Arguments) -> Self {
        let extent = kernel.extent().map_or(0, |_| arguments.extent);
        Self { kernel, extent }
    }

    /// What the kernel's time is linear in, between one extent and another.
    pub fn measure(self) -> f64 {
        f64::from(self.extent)
    }

    /// Arguments that make the kernel this variant.
    pub fn arguments(self) -> Arguments {
        Arguments { extent: self.extent, ..Arguments::default() }
    }
}

impl Kernel {
    pub const ALL: [Self; 6] =
        [Self::Scale, Self::Saxpy, Self::Polynomial, Self::Sum, Self::Stencil, Self::BlackScholes];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Saxpy => "saxpy",
            Self::Polynomial => "polynomial",
            Self::Sum => "sum",
            Self::Stencil => "stencil",
            Self::BlackScholes => "black-scholes",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// How many input arrays the kernel reads. Each kernel writes one array.
    pub const fn inputs(self) -> usize {
        match self {
            Self::BlackScholes => 3,
            Self::Saxpy => 2,
            Self::Scale | Self::Polynomial | Self::Sum | Self::Stencil => 1,
        }
    }

    pub const fn shape(self) -> Shape {
        match self {
            Self::Sum => Shape::Reduction,
            _ => Shape::Map,
        }
    }

    /// How many neighbours on each side an output element depends on.
    pub const fn halo(self) -> u64 {
        match self {
            Self::Stencil => 1,
            _ => 0,
        }
    }

    /// Whether the output may be the same memory as an input.
    pub const fn works_in_place(self) -> bool {
        self.halo() == 0 && matches!(self.shape(), Shape::Map)
    }

    /// Whether the kernel takes the factor `a`.
    pub const fn has_factor(self) -> bool {
        matches!(self, Self::Scale | Self::Saxpy)
    }

    /// The whole-number argument the kernel takes, if it takes one.
    pub const fn extent(self) -> Option<Extent> {
        match self {
            // Beyond this degree the kernel says nothing more about a machine.
            Self::Polynomial => {
                Some(Extent { name: "degree", least: 1, most: 65_536, default: 16 })
            }
            _ => None,
        }
    }

    /// The scalar arguments the kernel takes, by name.
    pub fn arguments(self) -> Vec<&'static str> {
        let factor = self.has_factor().then_some("a");
        factor.into_iter().chain(self.extent().map(|extent| extent.name)).collect()
    }

    /// Floating-point operations per element; a fused multiply-add is two.
    pub fn flops_per_element(self, arguments: &Arguments) -> f64 {
        match self {
            Self::Scale | Self::Sum => 1.0,
            Self::Saxpy => 2.0,
            Self::Polynomial => 2.0 * f64::from(arguments.extent),
            Self::Stencil => 3.0,
            // With every function counted as the series that the CPU twin has for it.
            Self::BlackScholes => 136.0,
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
