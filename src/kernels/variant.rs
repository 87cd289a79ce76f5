//! Kernels told apart by what they cost.

use super::{Arguments, Effort, Kernel};
use serde::{Deserialize, Serialize};
use std::fmt;

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
        let effort = Effort::of(self.kernel, &self.arguments()).around(footprint);
        effort.is_shared(elements as usize)
    }

    /// Arguments that make the kernel this variant; all others are the default ones.
    pub fn arguments(self) -> Arguments {
        Arguments { extent: self.extent, ..Arguments::default() }
    }
}
