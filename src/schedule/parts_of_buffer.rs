//! How the parts of a workload share its buffers.

use crate::families::Part;
use crate::program::BufferId;
use crate::scenario::Workload;

/// The parts whose tasks use a buffer.
#[derive(Clone, Copy, Default)]
pub(super) struct PartsOfBuffer {
    /// How many parts have tasks that read or write it.
    pub count: usize,
    /// The part that writes it, if one does.
    pub writer: Option<usize>,
}

impl PartsOfBuffer {
    /// Finds them for each buffer of a workload. `parts` are all parts of the workload.
    pub fn of(workload: &Workload, parts: &[Part]) -> Vec<Self> {
        let mut found = vec![Self::default(); workload.buffers.len()];
        let mut latest = vec![None; workload.buffers.len()];
        for (part, Part { tasks, .. }) in parts.iter().enumerate() {
            for &id in tasks {
                let task = workload.task(id);
                for &buffer in task.reads.iter().chain(&task.writes) {
                    let is_new = latest[buffer.0].replace(part) != Some(part);
                    found[buffer.0].count += usize::from(is_new);
                }
                let written =
                    task.writes.iter().filter(|&&one| workload.writer_of(one) == Some(id));
                written.for_each(|&BufferId(one)| found[one].writer = Some(part));
            }
        }
        found
    }
}
