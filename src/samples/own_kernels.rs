//! What a scenario brings along to be measured: kernels of its own, and commands that do the same
//! on the CPU.

use super::definition::{Definition, Work};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A run of what a scenario brought along.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of")]
pub enum OwnRun {
    /// Device time of a kernel launched back to back on the same data.
    Kernel {
        name: String,
        /// A digest of what runs.
        kernel: String,
        /// The numbers of the launch, besides its elements.
        numbers: String,
        registers_per_thread: u32,
        /// Shared memory that the code itself declares.
        shared_bytes_per_block: u32,
        elements: u64,
    },
    /// Host time of a command.
    Command {
        name: String,
        /// A digest of the command.
        command: String,
        elements: u64,
    },
}

impl OwnRun {
    pub(super) fn definition(&self) -> Definition {
        match self {
            Self::Kernel { elements, .. } => {
                Definition::new(Work::Device).size("elements", *elements)
            }
            Self::Command { elements, .. } => {
                Definition::new(Work::Computing).size("elements", *elements).by_team(true)
            }
        }
    }
}

impl fmt::Display for OwnRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { name, numbers, elements, .. } if numbers.is_empty() => {
                write!(f, "`{name}` on the GPU, {elements} elements")
            }
            Self::Kernel { name, numbers, elements, .. } => {
                write!(f, "`{name}` ({numbers}) on the GPU, {elements} elements")
            }
            Self::Command { name, elements, .. } => {
                write!(f, "`{name}` on the CPU, {elements} elements")
            }
        }
    }
}
