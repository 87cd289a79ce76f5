//! The scalar arguments of kernels, and those of them that costs go by.

use super::{Effort, Kernel};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    pub numbers: Numbers,
    /// Where the scenario does not say.
    pub default: u32,
}

/// Which whole numbers of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    All,
    Odd,
    PowersOfTwo,
}

impl Extent {
    /// Every whole number up to `most`.
    pub(super) const fn up_to(name: &'static str, most: u32, default: u32) -> Self {
        Self { name, least: 1, most, numbers: Numbers::All, default }
    }

    /// The number, if it is one of those allowed.
    pub fn check(&self, number: f64) -> Option<u32> {
        let within = (f64::from(self.least)..=f64::from(self.most)).contains(&number);
        let whole = (within && number.fract() == 0.0).then_some(number as u32)?;
        let fits = match self.numbers {
            Numbers::All => true,
            Numbers::Odd => whole % 2 == 1,
            Numbers::PowersOfTwo => whole.is_power_of_two(),
        };
        fits.then_some(whole)
    }
}

impl fmt::Display for Extent {
    /// What is allowed: `a whole number from 1 to 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match self.numbers {
            Numbers::All => "a whole number",
            Numbers::Odd => "an odd number",
            Numbers::PowersOfTwo => "a power of two",
        };
        write!(f, "{numbers} from {} to {}", self.least, self.most)
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
        let extent = f64::from(self.extent);
        match self.kernel {
            // The same bytes in other rows, or in so many more passes.
            Kernel::Transpose | Kernel::Fft => extent.log2(),
            _ => extent,
        }
    }

    /// Bytes that the kernel touches when each array is touched once.
    pub fn bytes(self, elements: u64) -> u64 {
        let along = self.kernel.bytes_per_element().saturating_mul(elements);
        along.saturating_add(self.kernel.whole_bytes(&self.arguments()))
    }

    /// Whether on the CPU a team of threads shares out so many elements where so many bytes of
    /// memory are gone round; one does it all if not.
    pub fn is_shared(self, elements: u64, footprint: u64) -> bool {
        let effort = Effort::of(self.kernel, &self.arguments()).around(footprint);
        effort.is_shared(elements as usize)
    }

    /// Arguments that make the kernel this variant.
    pub fn arguments(self) -> Arguments {
        Arguments { extent: self.extent, ..Arguments::default() }
    }
}
