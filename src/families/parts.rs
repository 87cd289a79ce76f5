//! Cutting the parts of a task graph that can be cut, where not all of it can.

use super::chunk::{Chunk, chunks_of};
use crate::program::BufferId;
use crate::scenario::{TaskId, Workload};

/// Tasks that are cut alike: a chunk of one needs of the others what is in the same chunk.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// In the workload's order.
    pub tasks: Vec<TaskId>,
    /// Into how many pieces each batch is cut.
    pub pieces: u64,
    /// The pieces of all batches.
    pub chunks: Vec<Chunk>,
}

/// Cuts all of a workload into so many pieces or, if it cannot be cut as a whole, the parts of it
/// that can.
///
/// # Errors
/// The reason why nothing of it can be cut.
pub(crate) fn parts(workload: &Workload, pieces: u64) -> Result<Vec<Part>, String> {
    let all = (0..workload.tasks.len()).map(TaskId).collect();
    match chunks_of(workload, pieces) {
        Ok(chunks) => return Ok(vec![Part { tasks: all, pieces, chunks }]),
        Err(why) if pieces == 1 || !workload.tasks.iter().any(|task| task.splittable) => {
            return Err(why);
        }
        Err(_) => {}
    }
    let mut why = None;
    let mut found = Vec::new();
    let mut part = Workload { tasks: Vec::new(), programs: Vec::new(), ..workload.clone() };
    for tasks in groups(workload) {
        part.tasks = tasks.iter().map(|&task| workload.task(task).clone()).collect();
        let cut =
            cut_group(workload, &tasks, &part, pieces).map_err(|error| why.get_or_insert(error));
        let (pieces, chunks) = match cut {
            Ok(chunks) => (pieces, chunks),
            Err(_) => (1, chunks_of(&part, 1)?),
        };
        found.push(Part { tasks, pieces, chunks });
    }
    if found.iter().all(|part| part.pieces == 1) {
        return Err(why.unwrap_or_else(|| "no task may be split".to_owned()));
    }
    Ok(found)
}

/// Cuts a group, which is a part of the workload. Others may read its results whole: then chunks
/// may not overlap in them.
fn cut_group(
    workload: &Workload,
    tasks: &[TaskId],
    part: &Workload,
    pieces: u64,
) -> Result<Vec<Chunk>, String> {
    let chunks = chunks_of(part, pieces)?;
    let others = || (0..workload.tasks.len()).map(TaskId).filter(|task| !tasks.contains(task));
    for &task in tasks {
        for &id in &workload.task(task).writes {
            let is_read_on = others().any(|other| workload.task(other).reads.contains(&id));
            let overlaps = |chunk: &Chunk| chunk.room[id.0] != chunk.owns[id.0];
            if is_read_on && (workload.is_reduced(id) || chunks.iter().any(overlaps)) {
                let name = &workload.buffer(id).name;
                return Err(format!("`{name}` is read whole, but its chunks overlap"));
            }
        }
    }
    Ok(chunks)
}

/// Tasks that may be cut together, since they go element by element through a buffer in common; any
/// other task by itself. What a reduction gives is there once all chunks are done, so one that is
/// read on is by itself, too.
fn groups(workload: &Workload) -> Vec<Vec<TaskId>> {
    let count = workload.tasks.len();
    let is_read = |id: BufferId| workload.tasks.iter().any(|task| task.reads.contains(&id));
    let is_cut = |id: usize| {
        let task = &workload.tasks[id];
        let is_read_on = task.writes.iter().any(|&id| workload.is_reduced(id) && is_read(id));
        task.splittable && !is_read_on
    };
    let along = |id: usize| {
        let task = &workload.tasks[id];
        let inputs = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        inputs.map(|input| task.reads[input]).chain(task.writes.iter().copied())
    };
    let mut group: Vec<usize> = (0..count).collect();
    for one in (0..count).filter(|&id| is_cut(id)) {
        for other in (0..one).filter(|&id| is_cut(id)) {
            if along(one).any(|id| along(other).any(|same| same == id)) {
                let (from, to) = (group[one], group[other]);
                group.iter_mut().filter(|id| **id == from).for_each(|id| *id = to);
            }
        }
    }
    let mut found: Vec<Vec<TaskId>> = Vec::new();
    for first in 0..count {
        let tasks: Vec<TaskId> = (0..count).filter(|&id| group[id] == first).map(TaskId).collect();
        if !tasks.is_empty() {
            found.push(tasks);
        }
    }
    found
}
