//! A workload at other sizes.

use crate::kernels::Shape;
use crate::program::BufferId;
use crate::scenario::{Task, Workload};

pub(super) fn largest(workload: &Workload) -> u64 {
    workload.largest_scaled().map_or(1, |buffer| buffer.elements)
}

/// The workload with its largest buffer at `elements` and the others in proportion, in whole rows;
/// buffers that keep their size stay. `None` if a task goes element by element through a buffer
/// that keeps its size, a kernel of the user's own stays whole, there is no task, or all of it
/// would be larger than any memory. Programs that are spelled out name ranges of bytes, and are
/// left out.
pub fn scaled(workload: &Workload, elements: u64) -> Option<Workload> {
    let goes_along = |task: &Task| {
        let inputs = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        let outputs = task.writes.iter().filter(|_| task.kernel.shape() == Shape::Map);
        inputs.map(|input| task.reads[input]).chain(outputs.copied()).collect::<Vec<_>>()
    };
    let mut gone_along = workload.tasks.iter().flat_map(goes_along);
    let all_scale = workload.tasks.iter().all(|task| task.kernel.scales());
    let none = workload.tasks.is_empty() || !all_scale;
    if none || gone_along.any(|id| workload.keeps_size(id)) {
        return None;
    }
    let (largest, grain) = (largest(workload), workload.grain());
    let mut scaled = Workload { programs: Vec::new(), ..workload.clone() };
    let buffers = scaled.buffers.iter_mut().enumerate();
    for (_, buffer) in buffers.filter(|(id, _)| !workload.keeps_size(BufferId(*id))) {
        let share = u128::from(buffer.elements) * u128::from(elements) / u128::from(largest);
        let share = u64::try_from(share).ok()?;
        let before = std::mem::replace(&mut buffer.elements, (share / grain).max(1) * grain);
        buffer.needed = buffer.needed.map(|needed| needed.scaled(before, buffer.elements));
    }
    scaled.has_size().then_some(scaled)
}
