//! Calls of kernels: of the library, of one's own, and products of any shape.

use super::call::{RawCall, needed};
use super::expansion::Expansion;
use super::own::{DeclaredKernel, Launched};
use super::scope::Scope;
use crate::files::{Fault, Spanned, one_of, unknown};
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
        kernel: &Spanned<String>,
        call: &RawCall,
    ) -> Result<Call, Fault> {
        let mut step = self.step(kernel, call)?;
        let device = step.slices().find_map(|slice| self.device_of(slice));
        let stream = self.stream(call.stream.as_ref(), device)?;
        if let Step::Library(step) = &mut step {
            let floats = Grid::workspace(step.kernel, &step.arguments);
            step.workspace = floats.map(|floats| self.workspace(stream, step.kernel, floats));
        }
        Ok(Call::Launch { stream, step })
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

    pub(super) fn step(&mut self, name: &Spanned<String>, call: &RawCall) -> Result<Step, Fault> {
        let declared = self.declared;
        if let Some(own) = declared.iter().find(|one| one.kernel.name == *name.get_ref()) {
            return self.own_step(own, name, call).map(Step::from);
        }
        let kernel = Kernel::from_name(name.get_ref()).ok_or_else(|| {
            let own = declared.iter().map(|one| one.kernel.name.as_str());
            let all: Vec<&str> = own.chain(Kernel::ALL.map(Kernel::name)).collect();
            unknown("kernel", name.get_ref(), name.span(), &all)
        })?;
        if let Some(elements) = &call.elements {
            let message =
                format!("the ranges already set the number of elements of kernel `{kernel}`");
            return Err(Fault::new(message, elements.span(), "not allowed", "remove it"));
        }
        // The `matmul` of the library has no other number than `inner`.
        let [rows, _, columns] = ProductShape::NUMBERS;
        let mut names = call.all_arguments().map(|(name, _)| name.get_ref());
        let has_shape = call.r#type.is_some() || names.any(|name| name == rows || name == columns);
        if kernel == Kernel::Matmul && has_shape {
            return self.product(name, call).map(Step::from);
        }
        if let Some(stray) = &call.r#type {
            let message = format!("kernel `{kernel}` only works on f32");
            return Err(Fault::new(message, stray.span(), "not allowed", "remove it"));
        }
        self.library_step(kernel, call).map(Step::Library)
    }

    /// The launch of a kernel of one's own.
    fn own_step(
        &mut self,
        own: &DeclaredKernel,
        name: &Spanned<String>,
        call: &RawCall,
    ) -> Result<OwnStep, Fault> {
        let lead = call.lead.as_ref().map(|lead| ("lead", lead.span()));
        let stray = lead.or_else(|| Some(("type", call.r#type.as_ref()?.span())));
        if let Some((key, place)) = stray {
            let message =
                format!("`{key}` only applies to library kernels, not to your own kernel `{name}`");
            return Err(Fault::new(message, place, "not allowed", "remove it"));
        }
        let mut slices = |texts: &[Spanned<String>], names: &[Spanned<String>], what: &str| {
            if !names.is_empty() && names.len() != texts.len() {
                let (wants, has) = (names.len(), texts.len());
                let message = format!(
                    "kernel `{name}` {what} {wants} range{}, but the call {what} {has}",
                    if wants == 1 { "" } else { "s" }
                );
                let help = "list one range for each name, in the kernel's order";
                return Err(Fault::new(message, name.span(), "wrong number of ranges", help)
                    .and(names[0].span(), "declared here"));
            }
            self.scope.slices(texts)
        };
        let reads = slices(needed(&call.reads).get_ref(), &own.raw.reads, "reads")?;
        let writes = slices(&call.all_writes(), &own.raw.writes, "writes")?;
        let numbers = own.numbers(call.all_arguments())?;
        let place = name.span();
        let elements =
            own.elements(call.elements.as_ref(), &numbers, &place)?.ok_or_else(|| {
                let message =
                    format!("this launch of `{name}` does not say how many elements it works on");
                let help = "add `elements = ...` to the call, or an expression for `elements` to \
                        the kernel";
                Fault::new(message, place.clone(), "number of elements missing", help)
            })?;
        let at = self.place_of(&own.kernel);
        own.launch(at, Launched { reads, writes, numbers: &numbers, elements, place })
    }

    fn library_step(&mut self, kernel: Kernel, call: &RawCall) -> Result<LibraryStep, Fault> {
        let mut arguments = Arguments::of(kernel);
        for (name, value) in call.all_arguments() {
            arguments.set(kernel, name.get_ref(), *value.get_ref()).map_err(|rule| {
                let message = format!("`{name} = {value}` of kernel `{kernel}`: {rule}");
                Fault::new(message, value.span(), "not allowed", "correct it or remove it")
            })?;
        }
        let lead = call.lead.as_ref().map_or(Ok(0), |lead| lead.within("`lead`", 0..=i64::MAX))?;
        let writes = call.all_writes();
        let [output] = &writes[..] else {
            let message =
                format!("kernel `{kernel}` writes one range, but the call writes {}", writes.len());
            let place = needed(&call.writes).span();
            return Err(Fault::new(
                message,
                place,
                "only one range allowed",
                "write a single range",
            ));
        };
        let inputs = self.scope.slices(needed(&call.reads).get_ref())?;
        let output = self.scope.slice(output)?;
        Ok(LibraryStep { kernel, arguments, inputs, output, workspace: None, lead })
    }

    /// A product of any shape, by cuBLAS.
    fn product(&mut self, name: &Spanned<String>, call: &RawCall) -> Result<OwnStep, Fault> {
        let types = ProductType::ALL.map(|of| (of.name(), of));
        let of = call.r#type.as_ref().map(|of| one_of("matrix type", of, &types));
        let of = of.transpose()?.unwrap_or(ProductType::F32);
        let mut numbers = BTreeMap::new();
        for (name, value) in call.all_arguments() {
            let is_side = ProductShape::NUMBERS.contains(&name.get_ref().as_str());
            let size = *value.get_ref();
            let most = ProductShape::MOST;
            if !is_side || size.fract() != 0.0 || !(1.0..=most as f64).contains(&size) {
                let message = format!("a matrix product cannot have `{name} = {value}`");
                let help =
                    format!("its arguments are `rows`, `inner` and `columns`, from 1 to {most}");
                return Err(Fault::new(message, value.span(), "not allowed", help));
            }
            numbers.insert(name.get_ref().clone(), size);
        }
        if let Some(lead) = &call.lead {
            let message = "a matrix product cannot have a `lead`";
            return Err(Fault::new(message, lead.span(), "not allowed", "remove it"));
        }
        let (gpu, cpu, rule) = (GpuSide::Product(of), CpuSide::Unknown, String::new());
        let kernel = OwnKernel { name: format!("matmul {of}"), gpu, cpu, rule, elementwise: None };
        let kernel = self.place_of(&kernel);
        let reads = self.scope.slices(needed(&call.reads).get_ref())?;
        let writes = self.scope.slices(&call.all_writes())?;
        let (geometry, parameters) = (None, Vec::new());
        let mut step =
            OwnStep { kernel, reads, writes, elements: 1, numbers, geometry, parameters };
        let Some(shape) = step.product() else {
            let message = "a matrix product needs `rows`, `inner` and `columns`";
            let help = "add `arguments = { rows = ..., inner = ..., columns = ... }`";
            return Err(Fault::new(message, name.span(), "incomplete", help));
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
