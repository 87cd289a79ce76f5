//! What a scenario brings along to be measured: kernels of its own, commands that do the same on
//! the CPU, and sizes of the library's kernels.

use super::definition::{Definition, Work};
use crate::kernels::Variant;
use crate::units::Bytes;
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
    /// Device time of a kernel of the library, at a size that calibrations do not measure.
    Library { variant: Variant, elements: u64 },
    /// Host time of its CPU twin that goes round so many bytes.
    Twin { variant: Variant, elements: u64, footprint: Bytes },
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
            Self::Kernel { elements, .. } | Self::Library { elements, .. } => {
                Definition::new(Work::Device).size("elements", *elements)
            }
            Self::Twin { elements, .. } | Self::Command { elements, .. } => {
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
            Self::Library { variant, elements } => {
                write!(f, "{variant} on the GPU, {elements} elements")
            }
            Self::Twin { variant, elements, footprint } => {
                write!(f, "{variant} on the CPU, {elements} elements in {footprint}")
            }
            Self::Command { name, elements, .. } => {
                write!(f, "`{name}` on the CPU, {elements} elements")
            }
        }
    }
}
