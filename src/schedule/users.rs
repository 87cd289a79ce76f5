//! Which parts of a workload use its buffers.

use crate::families::Part;
use crate::program::BufferId;
use crate::scenario::Workload;

/// Who uses a buffer.
#[derive(Clone, Copy, Default)]
pub(super) struct Users {
    /// How many parts have tasks that read or write it.
    pub parts: usize,
    /// The part that writes it, if one does.
    pub writer: Option<usize>,
}

impl Users {
    /// The users of each buffer of a workload, of which these are all parts.
    pub fn of(workload: &Workload, parts: &[Part]) -> Vec<Self> {
        let mut users = vec![Self::default(); workload.buffers.len()];
        let mut latest = vec![None; workload.buffers.len()];
        for (part, Part { tasks, .. }) in parts.iter().enumerate() {
            for &id in tasks {
                let task = workload.task(id);
                for &buffer in task.reads.iter().chain(&task.writes) {
                    let is_new = latest[buffer.0].replace(part) != Some(part);
                    users[buffer.0].parts += usize::from(is_new);
                }
                let written =
                    task.writes.iter().filter(|&&one| workload.writer_of(one) == Some(id));
                written.for_each(|&BufferId(one)| users[one].writer = Some(part));
            }
        }
        users
    }
}
