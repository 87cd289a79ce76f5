//! Checks one task against its kernel and the buffers that it names.

use super::raw::{RawBuffer, RawTask, count};
use super::{Buffer, Task, TaskId, TaskKernel};
use crate::files::{Fault, Spanned, unknown};
use crate::kernels::{Arguments, Kernel, NotTaken, Shape};
use crate::program::BufferId;
use crate::program::spelled::DeclaredKernel;
use crate::units::ElementType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The buffers that the names in a task refer to.
pub(super) struct Scope<'a> {
    pub raw_buffers: &'a [RawBuffer],
    pub buffers: &'a [Buffer],
    /// Index of each buffer by its name.
    pub ids: &'a BTreeMap<&'a Spanned<String>, usize>,
    /// Index of each task by its name.
    pub tasks: &'a BTreeMap<&'a Spanned<String>, usize>,
    /// The scenario's own kernels.
    pub declared: &'a [Arc<DeclaredKernel>],
}

impl Scope<'_> {
    /// Checks a task by itself. Its relations to other tasks are checked in `graph`.
    pub fn task(&self, raw: &RawTask) -> Result<Task, Fault> {
        let own = self.declared.iter().find(|one| one.kernel.name == *raw.kernel.get_ref());
        let task = match own {
            Some(own) => self.own_task(raw, own)?,
            None => self.library_task(raw, self.kernel(&raw.kernel)?)?,
        };
        halo_is_the_kernels(raw, &task)?;
        Ok(task)
    }

    fn library_task(&self, raw: &RawTask, kernel: Kernel) -> Result<Task, Fault> {
        let arguments = arguments(raw, kernel)?;
        let task = Task {
            name: raw.name.get_ref().clone(),
            kernel: TaskKernel::Library { kernel, arguments },
            reads: self.reads(raw, kernel)?,
            writes: self.writes(raw)?,
            after: self.after(raw)?,
            iterations: iterations(raw, kernel)?,
            splittable: may_be_cut(raw, kernel.goes_by_elements()),
            on_cpu: raw.on.is_some(),
        };
        split_where_possible(raw, kernel)?;
        let of = Applied { kernel, arguments: &arguments };
        self.elements_fit(raw, &task)?;
        self.rows_fit(raw, &task, of)?;
        self.shapes_fit(raw, &task, of)?;
        in_place_where_possible(raw, &task, kernel)?;
        Ok(task)
    }

    fn kernel(&self, name: &Spanned<String>) -> Result<Kernel, Fault> {
        Kernel::from_name(name.get_ref()).ok_or_else(|| {
            let own = self.declared.iter().map(|own| own.kernel.name.as_str());
            let all: Vec<&str> = Kernel::ALL.map(Kernel::name).into_iter().chain(own).collect();
            unknown("kernel", name.get_ref(), name.span(), &all)
        })
    }

    /// The tasks that this one runs after, by their places in the file.
    pub(super) fn after(&self, raw: &RawTask) -> Result<Vec<TaskId>, Fault> {
        let find = |name: &Spanned<String>| {
            if name.get_ref() == raw.name.get_ref() {
                let message = format!("task `{name}` cannot run `after` itself");
                return Err(Fault::new(message, name.span(), "itself", "remove it"));
            }
            self.tasks.get(name).copied().map(TaskId).ok_or_else(|| {
                let known: Vec<&str> =
                    self.tasks.keys().map(|one| one.get_ref().as_str()).collect();
                unknown("task", name.get_ref(), name.span(), &known)
            })
        };
        raw.after.iter().map(find).collect()
    }

    pub(super) fn find(&self, name: &Spanned<String>) -> Result<BufferId, Fault> {
        self.ids.get(name).copied().map(BufferId).ok_or_else(|| {
            let known: Vec<&str> = self.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            unknown("buffer", name.get_ref(), name.span(), &known)
                .or("declare it in a `[[buffer]]` table")
        })
    }

    fn reads(&self, raw: &RawTask, kernel: Kernel) -> Result<Vec<BufferId>, Fault> {
        let reads = raw.reads.get_ref();
        if reads.len() != kernel.inputs() {
            let [wants, has] = [kernel.inputs(), reads.len()].map(buffers_in_words);
            let message = format!("`reads` of task `{}` lists {has}", raw.name);
            let label = format!("kernel `{kernel}` reads {wants}");
            let help = format!("list {wants} in `reads`");
            return Err(Fault::new(message, raw.reads.span(), label, help));
        }
        reads.iter().map(|name| self.find(name)).collect()
    }

    fn writes(&self, raw: &RawTask) -> Result<Vec<BufferId>, Fault> {
        match raw.writes.get_ref().as_slice() {
            [name] => Ok(vec![self.find(name)?]),
            names => {
                let message =
                    format!("`writes` of task `{}` lists {} buffers", raw.name, names.len());
                let label = "library kernels write one buffer";
                Err(Fault::new(message, raw.writes.span(), label, "list one buffer in `writes`"))
            }
        }
    }

    /// The kernels of the library work on `f32`.
    fn elements_fit(&self, raw: &RawTask, task: &Task) -> Result<(), Fault> {
        let mut used = task.reads.iter().chain(&task.writes);
        let other = used.find(|id| self.buffers[id.0].element_type != ElementType::F32);
        let Some(&BufferId(id)) = other else { return Ok(()) };
        let name = &self.raw_buffers[id].name;
        let message = format!("task `{}` uses `{name}`, whose elements are not `f32`", raw.name);
        let help = "set `type = \"f32\"`, or write a `[[program]]`, whose copies and custom \
                    kernels work on any type";
        Err(Fault::new(message, raw.kernel.span(), "works on `f32`", help)
            .and(name.span(), "not `f32`"))
    }

    /// Inputs that are read element by element consist of whole rows.
    fn rows_fit(&self, raw: &RawTask, task: &Task, of: Applied<'_>) -> Result<(), Fault> {
        let (kernel, extent, grain) = (of.kernel, of.extent(), task.kernel.grain());
        for (input, id) in task.reads.iter().enumerate() {
            let buffer = &self.buffers[id.0];
            if task.reads_whole(input) || buffer.elements.is_multiple_of(grain) {
                continue;
            }
            let name = &buffer.name;
            let message = format!(
                "task `{}` reads the {} elements of `{name}`, but kernel `{kernel}` with {extent} \
                 processes {grain} at a time",
                raw.name, buffer.elements
            );
            let label = format!("not a multiple of {grain}");
            let help = format!(
                "set `elements` to a multiple of {grain}, or replace {extent} with another value"
            );
            return Err(Fault::new(message, self.elements_of(*id), label, help)
                .and(raw.reads.span(), "read here"));
        }
        Ok(())
    }

    /// Inputs that every output needs in full, such as weights, have the size that the kernel's
    /// arguments give.
    fn whole_inputs_fit(&self, raw: &RawTask, task: &Task, of: Applied<'_>) -> Result<(), Fault> {
        for (input, id) in task.reads.iter().enumerate() {
            let buffer = &self.buffers[id.0];
            let Some(wanted) = task.kernel.whole(input) else { continue };
            if buffer.elements != wanted {
                let (name, kernel) = (&buffer.name, of.kernel);
                let (operand, extent) = (kernel.operands()[input], of.extent());
                let message = format!(
                    "task `{}` reads `{name}` as the `{operand}` of kernel `{kernel}`, which needs \
                     {wanted} elements with {extent}, but it has {}",
                    raw.name, buffer.elements
                );
                let help = format!(
                    "set `elements = {wanted}` in buffer `{name}`, or replace {extent} with \
                     another value"
                );
                return Err(Fault::new(message, self.elements_of(*id), "does not fit", help)
                    .and(raw.reads.span(), "read here"));
            }
        }
        Ok(())
    }

    fn results_fit(&self, raw: &RawTask, task: &Task, of: Applied<'_>) -> Result<(), Fault> {
        let output = &self.buffers[task.output().0];
        let (gives, kernel) = (of.kernel.results(of.arguments), of.kernel);
        if output.elements == gives {
            return Ok(());
        }
        let words = if gives == 1 { "one element".to_owned() } else { format!("{gives} elements") };
        let message = format!(
            "kernel `{kernel}` of task `{}` produces {words}, but buffer `{}` has {}",
            raw.name, output.name, output.elements
        );
        let help = format!("set `elements = {gives}` in buffer `{}`", output.name);
        let here = self.elements_of(task.output());
        let fault = Fault::new(message, here, "does not fit", help);
        Err(match kernel.extent() {
            Some(_) => fault.or(&format!("change {}", of.extent())),
            None => fault,
        })
    }

    fn shapes_fit(&self, raw: &RawTask, task: &Task, of: Applied<'_>) -> Result<(), Fault> {
        self.whole_inputs_fit(raw, task, of)?;
        let output = &self.buffers[task.output().0];
        if task.kernel.shape() == Shape::Reduction {
            return self.results_fit(raw, task, of);
        }
        let differs = |id: &&BufferId| self.buffers[id.0].elements != output.elements;
        let along = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        let Some(&id) = along.map(|input| &task.reads[input]).find(differs) else {
            return Ok(());
        };
        let input = &self.buffers[id.0];
        let message = format!(
            "task `{}` reads the {} elements of `{}` but writes the {} of `{}`",
            raw.name, input.elements, input.name, output.elements, output.name
        );
        let label = format!("differs from `{}`", input.name);
        let help = format!(
            "kernel `{}` writes one element per element read: give both buffers the same \
             `elements`",
            of.kernel
        );
        Err(Fault::new(message, self.elements_of(task.output()), label, help)
            .and(self.elements_of(id), "read"))
    }

    /// The place of a buffer's `elements`.
    fn elements_of(&self, BufferId(id): BufferId) -> Range<usize> {
        self.raw_buffers[id].elements.span()
    }
}

/// A kernel of the library with its arguments.
#[derive(Clone, Copy)]
struct Applied<'a> {
    kernel: Kernel,
    arguments: &'a Arguments,
}

impl Applied<'_> {
    /// The kernel's whole-number argument as a scenario writes it: `taps = 9`.
    fn extent(self) -> String {
        let name = self.kernel.extent().map_or("", |extent| extent.name);
        format!("`{name} = {}`", self.arguments.extent)
    }
}

fn buffers_in_words(number: usize) -> String {
    if number == 1 { "one buffer".to_owned() } else { format!("{number} buffers") }
}

fn arguments(raw: &RawTask, kernel: Kernel) -> Result<Arguments, Fault> {
    let mut arguments = Arguments::of(kernel);
    for (name, value) in &raw.arguments {
        let number = *value.get_ref();
        let refuse = |rule: String, help: String| {
            let message =
                format!("`{name}` of task `{}` is {number:?}, but must be {rule}", raw.name);
            Fault::new(message, value.span(), "out of range", help)
        };
        arguments.set(kernel, name.get_ref(), number).map_err(|problem| match problem {
            NotTaken::Name => {
                let fault = unknown("argument", name.get_ref(), name.span(), &kernel.arguments());
                fault.within(&format!(" of kernel `{kernel}`"))
            }
            NotTaken::Extent(extent) => refuse(extent.to_string(), format!("write {extent}")),
            NotTaken::Factor => {
                refuse("a finite f32".to_owned(), "write a number such as 2.0".to_owned())
            }
        })?;
    }
    Ok(arguments)
}

fn iterations(raw: &RawTask, kernel: Kernel) -> Result<u64, Fault> {
    let what = format!("`iterations` of task `{}`", raw.name);
    let iterations = count(&what, raw.iterations.as_ref())?.unwrap_or(1);
    match &raw.iterations {
        Some(given) if iterations > 1 && kernel.shape() == Shape::Reduction => {
            let message =
                format!("{what} is {iterations}, but kernel `{kernel}` cannot be repeated");
            let label = "its output cannot be its next input";
            Err(Fault::new(message, given.span(), label, "remove `iterations`"))
        }
        _ => Ok(iterations),
    }
}

fn in_place_where_possible(raw: &RawTask, task: &Task, kernel: Kernel) -> Result<(), Fault> {
    if kernel.works_in_place() || !task.reads.contains(&task.output()) {
        return Ok(());
    }
    let message = format!("task `{}` reads and writes the same buffer", raw.name);
    let label = format!("kernel `{kernel}` cannot work in place");
    Err(Fault::new(message, raw.writes.span(), label, "write to another buffer")
        .and(raw.reads.span(), "read here"))
}

fn split_where_possible(raw: &RawTask, kernel: Kernel) -> Result<(), Fault> {
    let Some((place, _)) = raw.split_along().filter(|_| !kernel.can_be_cut()) else {
        return Ok(());
    };
    let message =
        format!("task `{}` has a `split`, but kernel `{kernel}` cannot be split", raw.name);
    let label = "every output element depends on the whole input";
    Err(Fault::new(message, place, label, "remove `split`"))
}

/// Whether plans may cut a task: as it says, or else by what its kernel is.
pub(super) fn may_be_cut(raw: &RawTask, unasked: bool) -> bool {
    raw.split.as_ref().map_or(unasked, |_| raw.split_along().is_some())
}

/// The kernel decides on the halo. A scenario may state it for its readers, if it is right.
fn halo_is_the_kernels(raw: &RawTask, task: &Task) -> Result<(), Fault> {
    let (kernel, has) = (task.kernel.name(), task.kernel.halo());
    match raw.split_along().and_then(|(_, along)| along.halo.as_ref()) {
        Some(halo) if u64::try_from(*halo.get_ref()) != Ok(has) => {
            let message = format!("`halo` of task `{}` is {halo}", raw.name);
            let label = format!("kernel `{kernel}` has a halo of {has}");
            let help = format!("write `halo = {has}`, or remove it");
            let fault = Fault::new(message, halo.span(), label, help);
            Err(match task.kernel.own_work() {
                Some(_) => fault.or("set `halo` in its `[[kernel]]`"),
                None => fault,
            })
        }
        _ => Ok(()),
    }
}
