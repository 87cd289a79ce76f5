//! Checks a task that runs a kernel of the user's own.

use super::raw::{RawTask, count};
use super::task::{Scope, may_be_cut};
use super::{OwnWork, Task, TaskKernel};
use crate::files::{Fault, Spanned};
use crate::program::spelled::{DeclaredKernel, Launched};
use crate::program::{AllocationId, BufferId, Slice};
use crate::units::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Scope<'_> {
    pub(super) fn own_task(
        &self,
        raw: &RawTask,
        declared: &Arc<DeclaredKernel>,
    ) -> Result<Task, Fault> {
        let reads = self.own_buffers(raw, "reads", &raw.reads, declared.named()[0])?;
        let writes = self.own_buffers(raw, "writes", &raw.writes, declared.named()[1])?;
        written_once(raw)?;
        let numbers = declared.numbers(raw.arguments.iter())?;
        let place = raw.kernel.span();
        let elements = declared.elements(None, &numbers, &place)?;
        let work = OwnWork {
            declared: declared.clone(),
            whole: self.read_whole(declared, &reads),
            elements,
            numbers,
        };
        let iterations =
            count(&format!("`iterations` of task `{}`", raw.name), raw.iterations.as_ref())?;
        let task = Task {
            name: raw.name.get_ref().clone(),
            kernel: TaskKernel::Own(work),
            reads,
            writes,
            after: self.after(raw)?,
            iterations: iterations.unwrap_or(1),
            splittable: may_be_cut(raw, false),
            on_cpu: raw.on.is_some(),
        };
        self.goes_along(raw, &task)?;
        chunks_have_a_time(raw, declared)?;
        self.is_launched(raw, &task)?;
        Ok(task)
    }

    fn own_buffers(
        &self,
        raw: &RawTask,
        key: &str,
        names: &Spanned<Vec<Spanned<String>>>,
        wanted: Option<usize>,
    ) -> Result<Vec<BufferId>, Fault> {
        let has = names.get_ref().len();
        let (least, most) = match wanted {
            Some(wanted) => (wanted, wanted),
            None => (usize::from(key == "writes"), usize::MAX),
        };
        if !(least..=most).contains(&has) {
            let message = format!("`{key}` of task `{}` lists {has} buffers", raw.name);
            let kernel = raw.kernel.get_ref();
            let label = format!("kernel `{kernel}` {key} {least}");
            let help = format!(
                "list one buffer for each name in the kernel's own `{key}`, in the same order"
            );
            return Err(Fault::new(message, names.span(), label, help));
        }
        names.get_ref().iter().map(|name| self.find(name)).collect()
    }

    /// For each buffer that the kernel reads, its elements if it is read whole.
    fn read_whole(&self, declared: &DeclaredKernel, reads: &[BufferId]) -> Vec<Option<u64>> {
        let elementwise = declared.kernel.elementwise.as_ref();
        let is_along = |at: usize| elementwise.is_some_and(|one| one.reads.get(at) == Some(&true));
        let reads = reads.iter().enumerate();
        reads.map(|(at, id)| (!is_along(at)).then(|| self.buffers[id.0].elements)).collect()
    }

    /// A kernel goes along buffers of one length, if it can be cut.
    fn goes_along(&self, raw: &RawTask, task: &Task) -> Result<(), Fault> {
        let kernel = &raw.kernel;
        if !task.kernel.can_be_cut() {
            let Some((place, _)) = raw.split_along() else { return Ok(()) };
            let message = format!(
                "task `{}` has a `split`, but kernel `{kernel}` is not declared to be splittable",
                raw.name
            );
            let help = "remove `split`, or list the arguments to be split in the kernel's \
                        `elementwise`";
            return Err(Fault::new(message, place, "cannot be split", help));
        }
        let in_place = task.writes.iter().find(|&&id| task.uses_in_place(id));
        if let (Some(id), 1..) = (in_place, task.kernel.halo()) {
            let name = &self.raw_buffers[id.0].name;
            let message = format!(
                "task `{}` reads and writes `{name}`, but kernel `{kernel}` has a halo",
                raw.name
            );
            let help = "write to another buffer: elements would be overwritten before their \
                        neighbours have been computed from them";
            return Err(Fault::new(message, raw.writes.span(), "in place", help));
        }
        let elements = |id: BufferId| self.buffers[id.0].elements;
        let inputs = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        let along = inputs.map(|input| task.reads[input]).chain(task.writes.iter().copied());
        let length = elements(task.output());
        let Some(other) = along.into_iter().find(|&id| elements(id) != length) else {
            return Ok(());
        };
        let [one, other] = [task.output(), other].map(|id| &self.raw_buffers[id.0]);
        let message = format!(
            "task `{}` is elementwise, but `{}` has {length} elements and `{}` has {}",
            raw.name, one.name, other.name, other.elements
        );
        let help =
            format!("kernel `{kernel}` is elementwise: give both buffers the same `elements`");
        let label = format!("differs from `{}`", one.name);
        Err(Fault::new(message, other.elements.span(), label, help)
            .and(kernel.span(), "elementwise"))
    }

    /// The kernel's rules make a launch of the whole.
    fn is_launched(&self, raw: &RawTask, task: &Task) -> Result<(), Fault> {
        let Some(work) = task.kernel.own_work() else { return Ok(()) };
        // Rules name no memory, so that any will do.
        let any = Slice { allocation: AllocationId(0), offset: Bytes::ZERO, length: Bytes::ZERO };
        let elements = work.elements.unwrap_or(self.buffers[task.output().0].elements);
        let launched = Launched {
            reads: vec![any; task.reads.len()],
            writes: vec![any; task.writes.len()],
            numbers: &work.numbers,
            elements,
            place: raw.kernel.span(),
        };
        work.declared.launch(0, launched).map(|_| ())
    }
}

fn written_once(raw: &RawTask) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    let again = raw.writes.get_ref().iter().find(|name| !seen.insert(name.get_ref()));
    again.map_or(Ok(()), |again| {
        let message = format!("task `{}` writes `{again}` twice", raw.name);
        Err(Fault::new(message, again.span(), "again", "list each buffer once"))
    })
}

/// A stated time that does not depend on the size says nothing of a part of the work.
fn chunks_have_a_time(raw: &RawTask, declared: &DeclaredKernel) -> Result<(), Fault> {
    let is_the_same = declared.kernel.takes_the_same_at_any_size();
    let Some((place, _)) = raw.split_along().filter(|_| is_the_same) else { return Ok(()) };
    let kernel = &raw.kernel;
    let message = format!(
        "task `{}` has a `split`, but the time of kernel `{kernel}` does not depend on its size",
        raw.name
    );
    let help = format!(
        "give `{kernel}` a `per_element` time: with only `fixed`, each chunk would take as long \
         as the whole"
    );
    Err(Fault::new(message, place, "the time of its chunks is unknown", help))
}
