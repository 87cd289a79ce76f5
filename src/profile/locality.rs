//! Where kernels find their data.

use crate::kernels::Kernel;
use crate::units::Bytes;

/// The most arrays that a kernel works on: what it reads, and what it writes.
pub const MOST_OPERANDS: usize = Kernel::MOST_INPUTS + 1;

/// Where a CPU twin finds its data: what a plan does with host memory between two uses of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostLocality {
    pub reuse: Reuse,
    /// Bytes of host memory that one pass of the plan uses.
    pub footprint: Bytes,
    /// Bytes that the kernel reads, and bytes that it writes, that other threads used last: all
    /// threads if one runs the kernel, one thread if all run it.
    pub handed: [Bytes; 2],
    /// Bytes read, and bytes written, that were last used in a kernel whose threads helped each
    /// other, if each thread keeps to its own share of this kernel.
    pub helped: [Bytes; 2],
}

/// What the CPU had written before an H2D copy read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JustWritten {
    /// All threads wrote it, and not one.
    pub by_all: bool,
    /// How many bytes the CPU had written, counted back from the copy, when it had written the last
    /// byte of the data, and the first.
    pub since: [Bytes; 2],
}

/// Where a kernel on the device finds its data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceLocality {
    pub reuse: Reuse,
    /// A copy has just brought what the kernel reads, or a part of it.
    pub is_just_copied: bool,
}

/// For each array that a kernel works on: its bytes, and the bytes of all memory used since the
/// array was last used, including what the kernel itself uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reuse(pub [(Bytes, Bytes); MOST_OPERANDS]);

impl Reuse {
    /// Applies `of` to the memory used since each array was last used, and averages the results,
    /// weighted by the arrays' bytes. `None` if `of` is `None` for an array that has bytes, or if
    /// none has.
    pub(super) fn mean(&self, of: impl Fn(Bytes) -> Option<f64>) -> Option<f64> {
        let whole: Bytes = self.0.iter().map(|&(bytes, _)| bytes).sum();
        let used = self.0.iter().filter(|&&(bytes, _)| bytes > Bytes::ZERO);
        let parts = used.map(|&(bytes, since)| Some(of(since)? * bytes.as_f64()));
        Some(parts.sum::<Option<f64>>()? / whole.as_f64()).filter(|_| whole > Bytes::ZERO)
    }
}
