//! Calls of kernels: of the library, of one's own, and products of any shape.

use super::expansion::Expansion;
use super::own::KernelCall;
use super::scope::Scope;
use crate::files::{Fault, Spanned, unknown};
use crate::kernels::{Arguments, CpuSide, GpuSide, Grid, Kernel, OwnKernel, ProductType};
use crate::machine::StreamId;
use crate::program::{
    Allocation, AllocationId, Call, LibraryStep, OwnStep, Place, ProductShape, Slice, Step,
};
use crate::units::Bytes;
use std::collections::BTreeMap;

impl Expansion<'_> {
    pub(super) fn launch(
        &mut self,
        call: &KernelCall<'_>,
        stream: Option<&Spanned<String>>,
    ) -> Result<Call, Fault> {
        let mut step = self.step(call)?;
        let stream = self.stream_beside(stream, step.slices().copied())?;
        if let Step::Library(step) = &mut step {
            let floats = Grid::workspace(step.kernel, &step.arguments);
            step.workspace = floats.map(|floats| self.workspace(stream, step.kernel, floats));
        }
        Ok(Call::Launch { stream, step })
    }

    /// The stream of a name, or the default stream of a GPU whose memory a kernel uses.
    fn stream_beside(
        &mut self,
        name: Option<&Spanned<String>>,
        mut slices: impl Iterator<Item = Slice>,
    ) -> Result<StreamId, Fault> {
        let is_on_device = |slice: &Slice| matches!(self.place(slice), Place::Device(_));
        match slices.find(is_on_device) {
            Some(memory) => self.stream(name, &memory),
            None => self.stream_or_default(name),
        }
    }

    fn workspace(&mut self, stream: StreamId, kernel: Kernel, floats: u64) -> Slice {
        let length = Bytes::of_f32(floats);
        let Scope { allocations, streams, .. } = &mut self.scope;
        let device = streams[stream.0].device;
        let key = (stream, kernel, length.get());
        let allocation = *self.workspaces.entry(key).or_insert_with(|| {
            let name = format!("workspace of stream {}", stream.0);
            let place = Place::Device(device);
            allocations.push(Allocation { name, place, bytes: length, holds: None });
            AllocationId(allocations.len() - 1)
        });
        Slice { allocation, offset: Bytes::ZERO, length }
    }

    pub(super) fn step(&mut self, call: &KernelCall<'_>) -> Result<Step, Fault> {
        let name = call.kernel.get_ref();
        let declared = self.declared;
        if let Some(own) = declared.iter().find(|one| one.kernel.name == *name) {
            let at = self.place_of(&own.kernel);
            return own.step(at, call, &mut self.scope).map(Step::Own);
        }
        let kernel = Kernel::from_name(name).ok_or_else(|| {
            let own = declared.iter().map(|one| one.kernel.name.as_str());
            let all: Vec<&str> = own.chain(Kernel::ALL.map(Kernel::name)).collect();
            unknown("kernel", name, call.kernel.span(), &all)
        })?;
        if let Some(elements) = call.elements {
            let message =
                format!("the ranges already set the number of elements of kernel `{kernel}`");
            return Err(Fault::new(message, elements.span(), "not allowed", "remove it"));
        }
        let has = |key: &str| call.arguments().any(|(name, _)| name.get_ref() == key);
        let element_type = call.element_type;
        if kernel == Kernel::Matmul && (element_type.is_some() || has("rows") || has("columns")) {
            return self.product(call).map(Step::Own);
        }
        if let Some(stray) = element_type {
            let message = format!("kernel `{kernel}` only works on f32");
            return Err(Fault::new(message, stray.span(), "not allowed", "remove it"));
        }
        self.library_step(kernel, call).map(Step::Library)
    }

    fn library_step(
        &mut self,
        kernel: Kernel,
        call: &KernelCall<'_>,
    ) -> Result<LibraryStep, Fault> {
        let mut arguments = Arguments::of(kernel);
        for (name, value) in call.arguments() {
            arguments.set(kernel, name.get_ref(), *value.get_ref()).map_err(|rule| {
                let message = format!("`{name} = {value}` of kernel `{kernel}`: {rule}");
                Fault::new(message, value.span(), "not allowed", "correct it or remove it")
            })?;
        }
        let lead = call.lead.map_or(Ok(0), |lead| lead.within("`lead`", 0..=i64::MAX))?;
        let writes = call.all_writes();
        let [output] = &writes[..] else {
            let message =
                format!("kernel `{kernel}` writes one range, but the call has {}", writes.len());
            let place = call.writes.span();
            return Err(Fault::new(message, place, "one", "write a single range"));
        };
        let mut slice = |text| self.scope.slice(text);
        Ok(LibraryStep {
            kernel,
            arguments,
            inputs: call.reads.iter().map(&mut slice).collect::<Result<_, _>>()?,
            output: slice(output)?,
            workspace: None,
            lead,
        })
    }

    /// A product of any shape, by cuBLAS.
    fn product(&mut self, call: &KernelCall<'_>) -> Result<OwnStep, Fault> {
        let of = call.element_type.map_or(Ok(ProductType::F32), |named| {
            ProductType::from_name(named.get_ref()).ok_or_else(|| {
                let all = ProductType::ALL.map(ProductType::name);
                unknown("type of a product", named.get_ref(), named.span(), &all)
            })
        })?;
        let mut numbers = BTreeMap::new();
        for (name, value) in call.arguments() {
            let sides = ["rows", "inner", "columns"];
            let is_side = sides.contains(&name.get_ref().as_str());
            let size = *value.get_ref();
            let most = ProductShape::MOST;
            if !is_side || size.fract() != 0.0 || !(1.0..=most as f64).contains(&size) {
                let message = format!("a product cannot have `{name} = {value}`");
                let help =
                    format!("its arguments are `rows`, `inner` and `columns`, from 1 to {most}");
                return Err(Fault::new(message, value.span(), "not allowed", help));
            }
            numbers.insert(name.get_ref().clone(), size);
        }
        if let Some(lead) = call.lead {
            let message = "a product cannot have a `lead`".to_owned();
            return Err(Fault::new(message, lead.span(), "not allowed", "remove it"));
        }
        let name = format!("matmul {of}");
        let (gpu, cpu, rule) = (GpuSide::Product(of), CpuSide::Unknown, String::new());
        let kernel = OwnKernel { name, gpu, cpu, rule, elementwise: None };
        let kernel = self.place_of(&kernel);
        let mut slices = |texts: &[Spanned<String>]| {
            let slices = texts.iter().map(|text| self.scope.slice(text));
            slices.collect::<Result<Vec<_>, _>>()
        };
        let (reads, writes) = (slices(call.reads)?, slices(&call.all_writes())?);
        let (geometry, parameters) = (None, Vec::new());
        let mut step =
            OwnStep { kernel, reads, writes, elements: 1, numbers, geometry, parameters };
        let Some(shape) = step.product() else {
            let message = "a product needs `rows`, `inner` and `columns`".to_owned();
            let help = "add `arguments = { rows = ..., inner = ..., columns = ... }`";
            return Err(Fault::new(message, call.kernel.span(), "is not enough", help));
        };
        step.elements = shape.rows.saturating_mul(shape.columns);
        Ok(step)
    }

    /// The place of a kernel in the program's table, where it is from now on.
    fn place_of(&mut self, kernel: &OwnKernel) -> usize {
        let known = self.kernels.iter().position(|one| one.name == kernel.name);
        known.unwrap_or_else(|| {
            self.kernels.push(kernel.clone());
            self.kernels.len() - 1
        })
    }
}
