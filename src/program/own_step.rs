//! Launches of kernels that are not of the library.

use super::operands::Slice;
use crate::kernels::{Geometry, GpuSide, OwnKernel, Parameter, ProductType};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
        let [rows, inner, columns] = [number("rows")?, number("inner")?, number("columns")?];
        Some(ProductShape { rows, inner, columns })
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
            return Some(format!("a launch of `{name}` that is impossible on any GPU: {problem}"));
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
            return Some(format!("a product with {} factors and {} results", has[0], has[1]));
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
            overlaps().then(|| "a product whose result overlaps with one of its factors".to_owned())
        })
    }
}
