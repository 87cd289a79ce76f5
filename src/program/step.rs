//! One kernel over ranges of memory, on the device or on the host.

use super::operands::Slice;
use super::own_step::OwnStep;
use crate::kernels::{Arguments, Effort, Kernel, Shape, Variant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::slice::from_ref;

/// A kernel and the memory that it works on: what a launch and a computation are of.
///
/// A step is written as what it contains: a kernel of the library has a name, and one of the
/// program's own has a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A kernel whose cost a calibration measures.
    Library(LibraryStep),
    /// A kernel that the program brings along.
    Own(OwnStep),
}

impl Step {
    /// The step of a kernel of the library, if it is one.
    pub const fn library(&self) -> Option<&LibraryStep> {
        match self {
            Self::Library(step) => Some(step),
            Self::Own(_) => None,
        }
    }

    /// The step of a kernel of the program's own, if it is one.
    pub const fn own(&self) -> Option<&OwnStep> {
        match self {
            Self::Library(_) => None,
            Self::Own(step) => Some(step),
        }
    }

    pub fn reads(&self) -> &[Slice] {
        match self {
            Self::Library(step) => &step.inputs,
            Self::Own(step) => &step.reads,
        }
    }

    /// What it leaves results in: of a reduction's workspace, nothing is of use.
    pub fn writes(&self) -> &[Slice] {
        match self {
            Self::Library(step) => from_ref(&step.output),
            Self::Own(step) => &step.writes,
        }
    }

    /// Device memory in which a reduction combines its blocks.
    pub const fn workspace(&self) -> Option<&Slice> {
        match self {
            Self::Library(step) => step.workspace.as_ref(),
            Self::Own(_) => None,
        }
    }

    /// All memory that it uses: what it reads, what it writes, and its workspace.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.reads().iter().chain(self.writes()).chain(self.workspace())
    }

    /// How many elements the kernel works on.
    pub fn elements(&self) -> u64 {
        match self {
            Self::Library(step) => step.elements(),
            Self::Own(step) => step.elements,
        }
    }

    /// Whether all threads of the CPU share the step, in a program that uses so much host memory in
    /// a pass. Whatever a kernel of the program's own does on the CPU, all of its threads may.
    pub fn is_shared(&self, footprint: Bytes) -> bool {
        self.library().is_none_or(|step| step.is_shared(footprint))
    }
}

impl From<LibraryStep> for Step {
    fn from(step: LibraryStep) -> Self {
        Self::Library(step)
    }
}

impl From<OwnStep> for Step {
    fn from(step: OwnStep) -> Self {
        Self::Own(step)
    }
}

/// One kernel of the library over one range of elements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryStep {
    pub kernel: Kernel,
    pub arguments: Arguments,
    pub inputs: Vec<Slice>,
    pub output: Slice,
    /// Device memory in which a reduction combines its blocks.
    pub workspace: Option<Slice>,
    /// How many input elements lie in front of the one that the first output element belongs to.
    pub lead: u64,
}

impl LibraryStep {
    /// The arrays that the kernel works on: first those that it only reads, then the one that it
    /// writes.
    pub fn operands(&self) -> Vec<Slice> {
        let only_read = self.inputs.iter().filter(|slice| **slice != self.output);
        only_read.chain([&self.output]).copied().collect()
    }

    /// All memory that the kernel uses: its inputs, its output and its workspace.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.inputs.iter().chain([&self.output]).chain(&self.workspace)
    }

    /// The kernel with its arguments, as a calibration measures it.
    pub fn variant(&self) -> Variant {
        Variant::of(self.kernel, &self.arguments)
    }

    /// The elements the kernel works on: outputs of a map, inputs of a reduction.
    pub fn elements(&self) -> u64 {
        match self.kernel.shape() {
            Shape::Map => self.output.length.as_f32_count(),
            Shape::Reduction => self.inputs[0].length.as_f32_count(),
        }
    }

    /// Whether all threads of the CPU share the step, in a program that uses so much host memory in
    /// a pass. If not, one thread does it all.
    pub fn is_shared(&self, footprint: Bytes) -> bool {
        self.variant().is_shared(self.elements(), footprint.get())
    }

    /// Whether each of so many threads keeps to its own share of the step, rather than helping
    /// others with theirs.
    pub fn keeps_shares(&self, threads: usize) -> bool {
        Effort::of(self.kernel, &self.arguments).keeps_shares(self.elements() as usize, threads)
    }
}
