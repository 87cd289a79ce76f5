//! Cutting a workload, or the parts of it that can be cut, into chunks: which elements of which
//! buffer each needs.

use super::ranges::Ranges;
use crate::kernels::Shape;
use crate::program::BufferId;
use crate::scenario::{Home, Task, TaskId, Tasks, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// One independent piece of work: a range of elements of one batch.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub batch: u64,
    /// Which piece of its batch this is.
    pub piece: u64,
    /// For each buffer, the elements that must be present for this chunk.
    pub needs: Ranges,
    /// For each buffer, the elements that this chunk and no other one computes or copies back.
    pub owns: Ranges,
    /// For each buffer, the elements that memory must hold while the chunk is computed: early
    /// iterations of a stencil are wider than its last one, and a kernel of the user's own
    /// writes as many elements as it reads.
    pub room: Ranges,
}

/// Cuts every batch into `chunks` pieces of nearly equal size.
///
/// # Errors
/// The reason why the workload cannot be cut.
pub(super) fn cut(workload: &Workload, chunks: u64) -> Result<Vec<Chunk>, String> {
    let all: Vec<BufferId> = workload.buffer_ids().collect();
    cut_buffers(workload, &all, chunks)
}

/// Cuts every batch like [`cut`], with ranges of some buffers alone: at least those that its tasks
/// use.
fn cut_buffers(workload: &Workload, used: &[BufferId], chunks: u64) -> Result<Vec<Chunk>, String> {
    let length = if chunks > 1 { Some(common_length(workload)?) } else { None };
    let (calls, most) = (workload.calls(chunks), workload.most_calls(chunks));
    if chunks > 1 && calls > most {
        return Err(format!("{calls} calls exceed the limit of {most}: use fewer chunks"));
    }
    let grain = workload.grain();
    if length.is_some_and(|length| chunks > length / grain) {
        let rows = if grain == 1 { String::new() } else { format!(", in rows of {grain},") };
        return Err(format!("a batch has too few elements{rows} for {chunks} chunks"));
    }
    // The length of each buffer that is cut.
    let length_of = |id| (id, length.filter(|_| is_cut(workload, id)));
    let lengths: Vec<(BufferId, Option<u64>)> = used.iter().map(|&id| length_of(id)).collect();
    let mut all = Vec::new();
    for batch in 0..workload.batches {
        for piece in 0..chunks {
            let owns = Ranges::new(own_ranges(workload, &lengths, piece, chunks));
            let needs = needed_ranges(workload, &owns);
            let room = room_ranges(workload, &needs);
            all.push(Chunk { batch, piece, needs, owns, room });
        }
    }
    if chunks > 1 {
        refuse_shared_updates(workload, &all)?;
    }
    Ok(all)
}

/// Cuts every batch like [`cut`], for plans whose kernels run on devices.
///
/// # Errors
/// The reason why the workload cannot be cut.
pub(super) fn chunks_of(workload: &Workload, chunks: u64) -> Result<Vec<Chunk>, String> {
    refuse_resident_reductions(workload, chunks)?;
    cut(workload, chunks)
}

fn refuse_resident_reductions(workload: &Workload, chunks: u64) -> Result<(), String> {
    let stays = |id| workload.buffer(id).home == Home::Device && workload.is_reduced(id);
    if chunks > 1 && workload.buffer_ids().any(stays) {
        return Err("a reduction whose result stays on the device cannot be split".to_owned());
    }
    Ok(())
}

/// Cuts a part of a workload like [`chunks_of`].
fn chunks_of_part(part: &Workload, chunks: u64) -> Result<Vec<Chunk>, String> {
    refuse_resident_reductions(part, chunks)?;
    let uses = part.tasks.iter().flat_map(|task| task.reads.iter().chain(&task.writes).copied());
    let used: BTreeSet<BufferId> = uses.collect();
    cut_buffers(part, &used.into_iter().collect::<Vec<_>>(), chunks)
}

/// The one length that all cut buffers share.
fn common_length(workload: &Workload) -> Result<u64, String> {
    if let Some(why) = workload.tasks.iter().find_map(Task::stays_whole) {
        return Err(why);
    }
    for task in &workload.tasks {
        for (input, &id) in task.reads.iter().enumerate() {
            let computed_first = workload.is_output(id) && task.reads_whole(input);
            if workload.is_reduced(id) || computed_first {
                let (name, buffer) = (&task.name, &workload.buffer(id).name);
                return Err(format!("task `{name}` needs all of `{buffer}` before it can start"));
            }
        }
    }
    let is_used = |id: &BufferId| workload.used_on_cpu_and_elsewhere(*id) != [false; 2];
    let cut = workload.buffer_ids().filter(|&id| is_cut(workload, id)).filter(is_used);
    let mut lengths: BTreeSet<u64> = cut.map(|id| workload.buffer(id).elements).collect();
    let length = lengths.pop_first().filter(|_| lengths.is_empty());
    length.ok_or_else(|| "its buffers have different lengths".to_owned())
}

/// Whether each chunk works on its own range of the buffer.
fn is_cut(workload: &Workload, id: BufferId) -> bool {
    !workload.is_reduced(id) && !workload.is_read_whole(id)
}

/// The ranges of a chunk, of buffers of these lengths if they are cut.
fn own_ranges(
    workload: &Workload,
    lengths: &[(BufferId, Option<u64>)],
    piece: u64,
    chunks: u64,
) -> Vec<(BufferId, Range<u64>)> {
    let grain = workload.grain();
    let range = |id: BufferId, length: Option<u64>| {
        match length {
            Some(length) => {
                let rows = length / grain;
                // Whole multiples of 32 elements keep device accesses aligned.
                let start = |piece: u64| {
                    let at = u128::from(rows) * u128::from(piece) / u128::from(chunks);
                    let at = at as u64;
                    if piece == chunks {
                        length
                    } else if rows / chunks < 64 {
                        at * grain
                    } else {
                        at / 32 * 32 * grain
                    }
                };
                start(piece)..start(piece + 1)
            }
            None => 0..workload.buffer(id).elements,
        }
    };
    lengths.iter().map(|&(id, length)| (id, range(id, length))).collect()
}

/// Finds what a chunk needs: goes through the tasks backwards and widens what each one reads
/// by its halo.
fn needed_ranges(workload: &Workload, owns: &Ranges) -> Ranges {
    let mut needs = owns.clone();
    for task in workload.tasks.iter().rev() {
        // A row is computed whole, however little of it is asked for.
        let grain = task.kernel.grain();
        let asked = task.writes.iter().map(|id| needs[*id].clone());
        let asked = asked.reduce(|one, two| one.start.min(two.start)..one.end.max(two.end));
        let asked = asked.expect("a task writes");
        let asked = asked.start / grain * grain..asked.end.next_multiple_of(grain);
        for write in &task.writes {
            // What is not cut is of any length.
            let end = asked.end.min(workload.buffer(*write).elements);
            needs[*write] = asked.start..end;
        }
        for (input, &read) in task.reads.iter().enumerate() {
            let length = workload.buffer(read).elements;
            let wanted = match task.kernel.shape() {
                _ if task.reads_whole(input) => 0..length,
                Shape::Map => widened(&asked, task.halo(), length),
                Shape::Reduction => owns[read].clone(),
            };
            let have = &mut needs[read];
            *have = have.start.min(wanted.start)..have.end.max(wanted.end);
        }
    }
    needs
}

fn room_ranges(workload: &Workload, needs: &Ranges) -> Ranges {
    let mut room = needs.clone();
    for task in &workload.tasks {
        for write in &task.writes {
            let (needs, length) = (&needs[*write], workload.buffer(*write).elements);
            room[*write] = match task.kernel.own_work() {
                Some(_) => widened(needs, task.halo(), length),
                None => iteration_range(task, 0, needs, length),
            };
        }
    }
    room
}

/// Widens a range by `by` elements on each side, within a buffer of `length`.
pub(super) fn widened(range: &Range<u64>, by: u64, length: u64) -> Range<u64> {
    range.start.saturating_sub(by)..(range.end + by).min(length)
}

/// Refuses chunks that would race. A buffer that is updated in place cannot be a neighbouring
/// chunk's halo: the neighbour might read it before the update or after it. Nor may chunks overlap
/// in a buffer that stays on the device, which they all share: early iterations of one would
/// overwrite the results of another.
fn refuse_shared_updates(workload: &Workload, chunks: &[Chunk]) -> Result<(), String> {
    for id in workload.buffer_ids().filter(|&id| workload.is_output(id)) {
        let buffer = workload.buffer(id);
        if buffer.home == Home::Scratch {
            continue;
        }
        if workload.is_input(id) && chunks.iter().any(|i| i.needs[id] != i.owns[id]) {
            return Err(format!("`{}` is updated in place, but its chunks overlap", buffer.name));
        }
        if buffer.home == Home::Device && chunks.iter().any(|i| i.room[id] != i.owns[id]) {
            return Err(format!("`{}` stays on the device, but its chunks overlap", buffer.name));
        }
    }
    Ok(())
}

/// The output range of iteration `index` (from 0) of a task whose final output is `last`.
pub(super) fn iteration_range(
    task: &Task,
    index: u64,
    last: &Range<u64>,
    length: u64,
) -> Range<u64> {
    widened(last, task.kernel.halo() * (task.iterations - 1 - index), length)
}

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
    let all = workload.task_ids().collect();
    match chunks_of(workload, pieces) {
        Ok(chunks) => return Ok(vec![Part { tasks: all, pieces, chunks }]),
        Err(why) if pieces == 1 || !workload.tasks.iter().any(|task| task.splittable) => {
            return Err(why);
        }
        Err(_) => {}
    }
    let mut why = None;
    let mut found = Vec::new();
    let mut part = Workload { tasks: Tasks::default(), programs: Vec::new(), ..workload.clone() };
    for tasks in groups(workload) {
        let members = tasks.iter().map(|&task| workload.task(task).clone());
        part.tasks = members.collect::<Vec<_>>().into();
        let cut =
            cut_group(workload, &tasks, &part, pieces).map_err(|error| why.get_or_insert(error));
        let (pieces, chunks) = match cut {
            Ok(chunks) => (pieces, chunks),
            Err(_) => (1, chunks_of_part(&part, 1)?),
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
    let chunks = chunks_of_part(part, pieces)?;
    let others = || workload.task_ids().filter(|task| !tasks.contains(task));
    for &task in tasks {
        for &id in &workload.task(task).writes {
            let is_read_on = others().any(|other| workload.task(other).reads.contains(&id));
            let overlaps = |chunk: &Chunk| chunk.room[id] != chunk.owns[id];
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
    let mut found: BTreeMap<usize, Vec<TaskId>> = BTreeMap::new();
    for (id, first) in group.into_iter().enumerate() {
        found.entry(first).or_default().push(TaskId(id));
    }
    found.into_values().collect()
}
