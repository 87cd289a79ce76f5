//! The answer in a word.

use serde::{Deserialize, Serialize};

/// Where a workload should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The GPU is faster.
    Gpu,
    /// The CPU is faster.
    Cpu,
    /// Both together are faster than the CPU alone, and than GPUs alone.
    Both,
    /// All plans use the same side, and one of them is the fastest.
    Plan,
    /// The machine's scatter does not settle which is faster, and they differ by at most a tenth.
    Tie,
    /// There is one plan, or none.
    NothingToCompare,
}
