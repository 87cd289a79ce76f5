//! The tasks of a workload, and which of them use each buffer.

use super::workload::{Task, TaskId};
use crate::program::BufferId;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// Tasks in an order that respects their dependencies. Which of them use a buffer is worked out
/// when it is first asked, and again after a task was changed.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    list: Vec<Task>,
    /// By buffer, up to the last one that is used.
    uses: OnceLock<Vec<Uses>>,
}

/// What tasks do with a buffer.
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
