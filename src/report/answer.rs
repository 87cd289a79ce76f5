//! The answer in a word.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a workload should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The GPU is faster.
    Gpu,
    /// The CPU is faster.
    Cpu,
    /// Both together are faster than the CPU alone, and than GPUs alone.
    Both,
    /// The machine's scatter does not settle which is faster.
    Tie,
    /// There are plans on one side only, or none.
    NothingToCompare,
}

impl Answer {
    /// For a cell of a table.
    pub(super) const fn in_a_word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
            Self::Both => "both",
            Self::Tie => "tie",
            Self::NothingToCompare => "-",
        }
    }

    /// For a sentence.
    pub(super) const fn said(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU",
            Self::Cpu => "the CPU",
            Self::Both => "both together",
            Self::Tie => "a tie",
            Self::NothingToCompare => "nothing to compare",
        }
    }
}
