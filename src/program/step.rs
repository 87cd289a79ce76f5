//! One kernel over ranges of memory, on the device or on the host.

use super::operands::Slice;
use crate::kernels::{
    Arguments, Effort, Geometry, GpuSide, Kernel, OwnKernel, Parameter, ProductType, Shape, Variant,
};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// A kernel that the program brings along. Few do, and a step of the library is much smaller.
    Own(Box<OwnStep>),
}

impl From<OwnStep> for Step {
    fn from(step: OwnStep) -> Self {
        Self::Own(Box::new(step))
    }
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
    pub const fn own_step(&self) -> Option<&OwnStep> {
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
    pub fn workspace(&self) -> Option<&Slice> {
        self.library()?.workspace.as_ref()
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
    pub fn operands(&self) -> impl Iterator<Item = &Slice> {
        let only_read = self.inputs.iter().filter(|slice| **slice != self.output);
        only_read.chain([&self.output])
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

/// One kernel that is not of the library, over ranges of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnStep {
    /// Index into [`Program::kernels`](super::Program::kernels).
    pub kernel: usize,
    pub reads: Vec<Slice>,
    pub writes: Vec<Slice>,
    pub elements: u64,
    /// Numbers that the launch names, besides its elements.
    pub numbers: BTreeMap<String, f64>,
    /// How it is launched, where that is known.
    pub geometry: Option<Geometry>,
    pub parameters: Vec<Parameter>,
}

/// A product of two matrices: so many rows, summed over `inner` elements, for so many columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    pub rows: u64,
    pub inner: u64,
    pub columns: u64,
}

impl ProductShape {
    /// The names of its numbers in a launch.
    pub const NUMBERS: [&str; 3] = ["rows", "inner", "columns"];
    /// The most of each: cuBLAS counts with 32 bits.
    pub const MOST: u64 = i32::MAX as u64;

    /// Bytes of the first factor, of the second, and of the product.
    pub fn bytes(&self, of: ProductType) -> [Bytes; 3] {
        let Self { rows, inner, columns } = *self;
        [(rows, inner), (inner, columns), (rows, columns)]
            .map(|(one, other)| Bytes::new(of.bytes() * one * other))
    }
}

/// Numbers of a launch as one text.
pub fn signature(numbers: &BTreeMap<String, f64>) -> String {
    let number = |(name, value): (&String, &f64)| format!("{name} = {value}");
    numbers.iter().map(number).collect::<Vec<_>>().join(", ")
}

impl OwnStep {
    /// All memory that it uses.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.reads.iter().chain(&self.writes)
    }

    /// What tells launches of one kernel apart, besides the number of elements.
    pub fn signature(&self) -> String {
        signature(&self.numbers)
    }

    /// The shape of a product, from the numbers of the launch.
    pub fn product(&self) -> Option<ProductShape> {
        let number = |name| {
            let value = *self.numbers.get(name)?;
            let is_count = (1.0..=ProductShape::MOST as f64).contains(&value);
            (is_count && value.fract() == 0.0).then_some(value as u64)
        };
        let [rows, inner, columns] = ProductShape::NUMBERS.map(number);
        Some(ProductShape { rows: rows?, inner: inner?, columns: columns? })
    }

    /// What it says that cannot be, of a kernel that is there.
    pub(super) fn problem(&self, kernel: &OwnKernel) -> Option<String> {
        let name = &kernel.name;
        if self.elements == 0 {
            return Some(format!("0 elements of `{name}`"));
        }
        if let Some((number, _)) = self.numbers.iter().find(|(_, value)| !value.is_finite()) {
            return Some(format!("`{number}` of `{name}`, which is not a finite number"));
        }
        if let Some(problem) = self.geometry.as_ref().and_then(Geometry::problem) {
            return Some(format!("a launch of `{name}` that no GPU can run: {problem}"));
        }
        let is_there = |parameter: &Parameter| match *parameter {
            Parameter::Reads(at) => at < self.reads.len(),
            Parameter::Writes(at) => at < self.writes.len(),
            Parameter::F32(value) => value.is_finite(),
            Parameter::F64(value) => value.is_finite(),
            _ => true,
        };
        if let Some(at) = self.parameters.iter().position(|one| !is_there(one)) {
            return Some(format!("parameter {at} of `{name}`, which is missing from the launch"));
        }
        match kernel.gpu {
            GpuSide::Code(_) if self.geometry.is_none() => {
                Some(format!("a launch of `{name}` without a grid"))
            }
            GpuSide::Product(of) => self.wrong_product(of),
            _ => None,
        }
    }

    fn wrong_product(&self, of: ProductType) -> Option<String> {
        let Some(shape) = self.product() else {
            let most = ProductShape::MOST;
            return Some(format!(
                "a product whose `rows`, `inner` and `columns` are not all between 1 and {most}"
            ));
        };
        let (has, wants) = ([self.reads.len(), self.writes.len()], [2, 1]);
        if has != wants {
            return Some(format!(
                "a product that reads {} matrices and writes {}; it must read 2 and write 1",
                has[0], has[1]
            ));
        }
        let slices = self.slices().map(|slice| slice.length);
        let misfit = slices.zip(shape.bytes(of)).find(|(has, wants)| has != wants);
        let misfit = misfit.map(|(has, wants)| {
            let ProductShape { rows, inner, columns } = shape;
            let (has, wants) = (has.get(), wants.get());
            format!(
                "a matrix of {has} bytes, but a product of {rows} x {inner} and {inner} x \
                 {columns} elements of {of} needs {wants}"
            )
        });
        let overlaps = || self.reads.iter().any(|read| read.overlaps(&self.writes[0]));
        misfit.or_else(|| {
            overlaps().then(|| "a product whose result overlaps one of its inputs".to_owned())
        })
    }
}
