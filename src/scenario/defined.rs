//! Whether results that are needed depend only on what is needed of the inputs.
//!
//! What is not needed of an input does not cross, so on a GPU its place holds anything. A result of
//! that may be computed, but nobody may ask for it.

use super::raw::RawScenario;
use super::{Buffer, Home, Needed, Task, TaskKernel};
use crate::files::{Fault, Spanned};
use crate::kernels::Shape;
use crate::program::BufferId;
use std::ops::Range;

/// Elements of a buffer, as ranges in order.
type Ranges = Vec<Range<u64>>;

/// What a buffer has that can be relied upon. Where that is not all, the input that lacks some.
#[derive(Clone)]
struct Defined {
    ranges: Ranges,
    lacking: Option<BufferId>,
}

/// # Errors
/// If `needed` says of a buffer what cannot be, or of an input less than its tasks use.
pub(super) fn check_needed(
    raw: &RawScenario,
    buffers: &[Buffer],
    tasks: &[Task],
) -> Result<(), Fault> {
    if buffers.iter().all(|buffer| buffer.needed.is_none()) {
        return Ok(());
    }
    let is_written = |id: usize| tasks.iter().any(|task| task.writes.contains(&BufferId(id)));
    let is_read = |id: usize| tasks.iter().any(|task| task.reads.contains(&BufferId(id)));
    let mut defined = Vec::new();
    for (id, buffer) in buffers.iter().enumerate() {
        let in_place = |task: &Task| task.uses_in_place(BufferId(id));
        if !is_written(id) && !is_read(id) && buffer.needed.is_some() {
            let help = "remove it: a program spells out what it copies";
            return Err(fault(raw, id, "has no effect, because no task uses the buffer", help));
        }
        if buffer.needed.is_some() && tasks.iter().any(in_place) {
            let help = "let the task write to another buffer, and set `needed` for each";
            let problem = "is ambiguous, because a task updates the buffer in place";
            return Err(fault(raw, id, problem, help));
        }
        let needed = buffer.needed.filter(|_| !is_written(id));
        defined.push(Defined {
            ranges: needed.unwrap_or_else(|| (0..buffer.elements).into()).ranges().collect(),
            lacking: needed.map(|_| BufferId(id)),
        });
    }
    for task in tasks {
        let found = computed(raw, buffers, task, &defined)?;
        for (&write, found) in task.writes.iter().zip(found) {
            check_result(raw, buffers, write, task, &found)?;
            defined[write.0] = found;
        }
    }
    Ok(())
}

/// What a task's results have that can be relied upon.
fn computed(
    raw: &RawScenario,
    buffers: &[Buffer],
    task: &Task,
    defined: &[Defined],
) -> Result<Vec<Defined>, Fault> {
    let length = buffers[task.output().0].elements;
    let whole = |id: &BufferId| Defined { ranges: all(buffers[id.0].elements), lacking: None };
    let is_map = task.kernel.can_be_cut() && task.kernel.shape() == Shape::Map;
    let mut found = Defined { ranges: all(length), lacking: None };
    for (input, read) in task.reads.iter().enumerate() {
        let Defined { ranges, lacking: Some(lacking) } = &defined[read.0] else { continue };
        let is_own = matches!(task.kernel, TaskKernel::Own(_));
        if is_own && (task.reads_whole(input) || !is_map) {
            // The kernel knows which of it to use.
            continue;
        }
        if task.reads_whole(input) || !is_map {
            let problem = format!("is only a part, but task `{}` uses the whole buffer", task.name);
            let help = "remove `needed`";
            return Err(fault(raw, lacking.0, &problem, help));
        }
        let inner =
            ranges.iter().filter_map(|range| narrowed(range, &task.kernel, task.halo(), length));
        found.ranges = common(&found.ranges, &inner.collect::<Ranges>());
        found.lacking = Some(*lacking);
    }
    Ok(match is_map {
        true => task.writes.iter().map(|_| found.clone()).collect(),
        false => task.writes.iter().map(whole).collect(),
    })
}

/// The results of a range: whole groups of elements, without those near an end that depend on what
/// lies beyond.
fn narrowed(range: &Range<u64>, kernel: &TaskKernel, halo: u64, length: u64) -> Option<Range<u64>> {
    let grain = kernel.grain();
    let start = if range.start == 0 { 0 } else { (range.start + halo).next_multiple_of(grain) };
    let end = if range.end == length { length } else { range.end.saturating_sub(halo) };
    let end = if end == length { end } else { end / grain * grain };
    (start < end).then_some(start..end)
}

/// What two lists of ranges have in common.
fn common(one: &Ranges, other: &Ranges) -> Ranges {
    let mut found = Ranges::new();
    let (mut at, mut other_at) = (0, 0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(other_at)) {
        let both = a.start.max(b.start)..a.end.min(b.end);
        if !both.is_empty() {
            found.push(both);
        }
        *(if a.end < b.end { &mut at } else { &mut other_at }) += 1;
    }
    found
}

/// What the host needs of a result is among what is defined of it.
fn check_result(
    raw: &RawScenario,
    buffers: &[Buffer],
    id: BufferId,
    task: &Task,
    found: &Defined,
) -> Result<(), Fault> {
    let Some(lacking) = found.lacking else { return Ok(()) };
    let buffer = &buffers[id.0];
    if buffer.home == Home::Scratch {
        return Ok(());
    }
    let needed = buffer.needed.unwrap_or_else(|| Needed::from(0..buffer.elements));
    let needed: Ranges = needed.ranges().collect();
    if elements(&common(&needed, &found.ranges)) == elements(&needed) {
        return Ok(());
    }
    let (result, task) = (&buffer.name, &task.name);
    let problem = format!(
        "is too small: task `{task}` needs more of it to compute what is needed of `{result}`"
    );
    let help =
        format!("reduce `needed` of `{result}`, or add the elements that it depends on here");
    Err(fault(raw, lacking.0, &problem, &help).and(raw.buffers[id.0].name.span(), "needed here"))
}

/// All of so many elements.
fn all(elements: u64) -> Ranges {
    std::iter::once(0..elements).collect()
}

fn elements(ranges: &Ranges) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

fn fault(raw: &RawScenario, id: usize, problem: &str, help: &str) -> Fault {
    let buffer = &raw.buffers[id];
    let span = buffer.needed.as_ref().map_or(buffer.name.span(), Spanned::span);
    let message = format!("`needed` of buffer `{}` {problem}", buffer.name);
    Fault::new(message, span, "this part", help)
}
