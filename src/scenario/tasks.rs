//! The tasks of a workload, and which of them use each buffer.

use super::task_kernel::TaskKernel;
use crate::program::BufferId;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// Index of a task in [`Workload::tasks`](super::Workload::tasks).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub usize);

/// One kernel applied to buffers, `iterations` times over the same data.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub name: String,
    pub kernel: TaskKernel,
    pub reads: Vec<BufferId>,
    /// One buffer if the kernel is of the library.
    pub writes: Vec<BufferId>,
    /// Tasks that it runs after, besides those that write what it reads.
    pub after: Vec<TaskId>,
    /// Dependent repetitions: each reads what the one before wrote.
    pub iterations: u64,
    /// May be cut into chunks along the elements.
    pub splittable: bool,
    /// Runs on the CPU in every plan.
    pub on_cpu: bool,
}

impl Task {
    /// Neighbours on each side that an output element depends on, over all iterations. A kernel of
    /// the user's own reads the same in each.
    pub fn halo(&self) -> u64 {
        self.kernel.halo() * if self.kernel.own_work().is_some() { 1 } else { self.iterations }
    }

    /// Why plans may not cut it, if so.
    pub fn stays_whole(&self) -> Option<String> {
        let why =
            if self.kernel.is_cut_unasked() { "has `split = \"none\"`" } else { "has no `split`" };
        (!self.splittable).then(|| format!("task `{}` {why}", self.name))
    }

    /// Whether an output element may depend on all of an input, by its place in
    /// [`Task::reads`].
    pub fn reads_whole(&self, input: usize) -> bool {
        self.kernel.whole(input).is_some()
    }

    /// The buffer that a kernel of the library writes, or the first of several.
    pub fn output(&self) -> BufferId {
        self.writes[0]
    }

    /// Whether it reads what it writes over.
    pub fn uses_in_place(&self, id: BufferId) -> bool {
        self.writes.contains(&id) && self.reads.contains(&id)
    }

    /// Whether it reads or writes a buffer.
    pub fn uses(&self, id: BufferId) -> bool {
        self.writes.contains(&id) || self.reads.contains(&id)
    }
}

/// Tasks in an order that respects their dependencies. Which of them use a buffer is worked out
/// when it is first asked, and again after a task was changed.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    list: Vec<Task>,
    /// By buffer, up to the last one that is used.
    uses: OnceLock<Vec<Uses>>,
}

/// What tasks do with a buffer.
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Uses {
    /// The first task that writes it.
    pub writer: Option<TaskId>,
    /// Whether the first task that uses it reads it, and whether the first one does that does not
    /// stay on the CPU.
    pub is_input: bool,
    pub is_input_elsewhere: bool,
    /// Whether a task that stays on the CPU uses it, and whether another one does.
    pub on_cpu: bool,
    pub elsewhere: bool,
    /// Whether a task reads all of it for every element that it writes.
    pub is_read_whole: bool,
}

impl Tasks {
    pub(super) fn uses(&self, id: BufferId) -> Uses {
        let uses = self.uses.get_or_init(|| uses(&self.list));
        uses.get(id.0).copied().unwrap_or_default()
    }
}

fn uses(tasks: &[Task]) -> Vec<Uses> {
    let of = |task: &Task| task.reads.iter().chain(&task.writes).map(|id| id.0 + 1).max();
    let mut all = vec![Uses::default(); tasks.iter().filter_map(of).max().unwrap_or(0)];
    for (place, task) in tasks.iter().enumerate() {
        for id in task.reads.iter().chain(&task.writes) {
            let uses = &mut all[id.0];
            let is_read = task.reads.contains(id);
            uses.is_input |= !(uses.on_cpu || uses.elsewhere) && is_read;
            uses.is_input_elsewhere |= !(uses.elsewhere || task.on_cpu) && is_read;
            uses.on_cpu |= task.on_cpu;
            uses.elsewhere |= !task.on_cpu;
        }
        for id in &task.writes {
            all[id.0].writer.get_or_insert(TaskId(place));
        }
        for (input, id) in task.reads.iter().enumerate() {
            all[id.0].is_read_whole |= task.reads_whole(input);
        }
    }
    all
}

impl From<Vec<Task>> for Tasks {
    fn from(list: Vec<Task>) -> Self {
        Self { list, uses: OnceLock::new() }
    }
}

impl Deref for Tasks {
    type Target = [Task];

    fn deref(&self) -> &[Task] {
        &self.list
    }
}

impl DerefMut for Tasks {
    fn deref_mut(&mut self) -> &mut [Task] {
        self.uses.take();
        &mut self.list
    }
}

impl PartialEq for Tasks {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl IntoIterator for Tasks {
    type Item = Task;
    type IntoIter = std::vec::IntoIter<Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'t> IntoIterator for &'t Tasks {
    type Item = &'t Task;
    type IntoIter = std::slice::Iter<'t, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'t> IntoIterator for &'t mut Tasks {
    type Item = &'t mut Task;
    type IntoIter = std::slice::IterMut<'t, Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
