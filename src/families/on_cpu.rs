//! Tasks that a scenario keeps on the CPU, in plans in which the GPU has the others: before its
//! tasks, or behind them.

use super::builder::{Builder, Slot, room};
use super::chunk::Chunk;
use super::partials::Partials;
use crate::machine::HostMemory;
use crate::program::{Place, Step};
use crate::scenario::{Home, TaskId, Workload};

/// What the CPU computes of each chunk, and the host memory for it.
pub(super) struct OnCpu {
    /// What the GPU's tasks wait for, and what waits for them.
    pub before: Vec<TaskId>,
    pub behind: Vec<TaskId>,
    /// Memory for what iterations alternate with. Everything else is at home.
    slot: Option<Slot>,
}

impl OnCpu {
    /// None: whoever makes a plan of single tasks has them among the others.
    pub const fn none() -> Self {
        Self { before: Vec::new(), behind: Vec::new(), slot: None }
    }

    /// Takes host memory for intermediates that go between both sides.
    ///
    /// # Errors
    /// If tasks of the GPU wait for one that waits for such a task, or chunks would race.
    pub fn new(builder: &mut Builder<'_>, chunks: &[Chunk]) -> Result<Self, String> {
        let workload = builder.workload;
        if !workload.tasks.iter().any(|task| task.on_cpu) {
            return Ok(Self::none());
        }
        refuse_data_on_device(workload)?;
        let (before, behind) = sorted(workload)?;
        if workload.tasks.iter().all(|task| task.on_cpu) {
            return Err("no task is left to run on the GPU".to_owned());
        }
        for id in workload.buffer_ids() {
            let buffer = workload.buffer(id);
            let is_cut = |chunk: &Chunk| {
                let [needs, room] = [&chunk.needs, &chunk.room].map(|all| &all[id]);
                [needs, room].into_iter().any(|range| *range != chunk.owns[id])
            };
            let writer = workload.writer_of(id).map(|task| workload.task(task));
            let is_meant = writer.is_some_and(|task| task.on_cpu || workload.goes_to_cpu(id));
            if is_meant && chunks.iter().any(is_cut) {
                let name = &buffer.name;
                return Err(format!("the CPU uses `{name}`, whose chunks overlap"));
            }
            let [is_used, _] = workload.used_on_cpu_and_elsewhere(id);
            if buffer.home == Home::Scratch && is_used {
                builder.house(id);
            }
        }
        let place = Place::Host(HostMemory::Pageable);
        let room = room(chunks);
        let slot = builder.storage_beside_homes(&room, place, &[]);
        let slot = builder.equipped_for(slot, &room, |task| task.on_cpu);
        Ok(Self { before, behind, slot: Some(slot) })
    }

    /// Computes those of its tasks before the GPU's, or behind them, whose results are there then.
    pub fn compute(
        &self,
        builder: &mut Builder<'_>,
        chunk: &Chunk,
        tasks: &[TaskId],
        partials: &[Partials],
    ) -> Result<(), String> {
        self.slot.as_ref().map_or(Ok(()), |slot| compute(builder, slot, chunk, tasks, partials))
    }
}

/// Computes tasks of a chunk on the CPU, where its data is at home. A part of a reduction goes
/// where all parts are.
pub(super) fn compute(
    builder: &mut Builder<'_>,
    slot: &Slot,
    chunk: &Chunk,
    tasks: &[TaskId],
    partials: &[Partials],
) -> Result<(), String> {
    for &task in tasks {
        let id = builder.workload.task(task).output();
        for mut step in builder.steps(slot, chunk, task)? {
            let part = Partials::target(partials, chunk, id);
            if let (Step::Library(step), Some(part)) = (&mut step, part) {
                step.output = part.slice(&chunk.owns[id]);
            }
            builder.compute(step);
        }
    }
    Ok(())
}

/// The tasks on the CPU that no task of the GPU comes before, and the others.
fn sorted(workload: &Workload) -> Result<(Vec<TaskId>, Vec<TaskId>), String> {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    // For each task so far, whether it is the GPU's or waits for one that is.
    let mut is_behind: Vec<bool> = Vec::new();
    for (id, task) in workload.tasks.iter().enumerate() {
        let writers = task.reads.iter().filter_map(|&read| workload.writer_of(read));
        let first: Vec<TaskId> =
            writers.chain(task.after.iter().copied()).filter(|first| first.0 != id).collect();
        if task.on_cpu {
            is_behind.push(first.iter().any(|first| is_behind[first.0]));
            let side = if is_behind[id] { &mut behind } else { &mut before };
            side.push(TaskId(id));
            continue;
        }
        if let Some(between) = first.iter().find(|first| behind.contains(first)) {
            let between = &workload.task(*between).name;
            return Err(format!(
                "task `{between}` on the CPU is between tasks on the GPU; only `by-task` plans \
                 support that"
            ));
        }
        is_behind.push(true);
    }
    Ok((before, behind))
}

/// Only a schedule of single tasks copies data that live on the GPU to the CPU and back.
pub(super) fn refuse_data_on_device(workload: &Workload) -> Result<(), String> {
    for task in workload.tasks.iter().filter(|task| task.on_cpu) {
        let mut used = task.reads.iter().chain(&task.writes);
        let there = used.find(|id| workload.buffer(**id).home == Home::Device);
        if let Some(&there) = there {
            let (task, buffer) = (&task.name, &workload.buffer(there).name);
            return Err(format!(
                "task `{task}` on the CPU uses `{buffer}`, which is on the GPU; only `by-task` \
                 plans support that"
            ));
        }
    }
    Ok(())
}
