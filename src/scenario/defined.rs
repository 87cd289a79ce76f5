//! Whether results that are needed depend only on what is needed of the inputs.
//!
//! What is not needed of an input does not cross, so on a GPU its place holds anything. A result of
//! that may be computed, but nobody may ask for it.

use super::task::Scope;
use super::{Home, Needed, Task, TaskKernel};
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

impl Scope<'_> {
    /// # Errors
    /// If `needed` says of a buffer what cannot be, or of an input less than its tasks use.
    pub(super) fn check_needed(&self, tasks: &[Task]) -> Result<(), Fault> {
        if self.buffers.iter().all(|buffer| buffer.needed.is_none()) {
            return Ok(());
        }
        let mut defined = Vec::new();
        for (at, buffer) in self.buffers.iter().enumerate() {
            let id = BufferId(at);
            let is_written = tasks.iter().any(|task| task.writes.contains(&id));
            if buffer.needed.is_some() && !tasks.iter().any(|task| task.uses(id)) {
                let help = "remove it: a program spells out what it copies";
                return Err(self.wrong(id, "has no effect, because no task uses the buffer", help));
            }
            if buffer.needed.is_some() && tasks.iter().any(|task| task.uses_in_place(id)) {
                let help = "have the task write to another buffer, and set `needed` for each";
                let problem = "is ambiguous, because a task updates the buffer in place";
                return Err(self.wrong(id, problem, help));
            }
            let needed = buffer.needed.filter(|_| !is_written);
            defined.push(Defined {
                ranges: needed.unwrap_or_else(|| (0..buffer.elements).into()).ranges().collect(),
                lacking: needed.map(|_| id),
            });
        }
        for task in tasks {
            let found = self.computed(task, &defined)?;
            for (&write, found) in task.writes.iter().zip(found) {
                self.check_result(write, task, &found)?;
                defined[write.0] = found;
            }
        }
        Ok(())
    }

    /// What a task's results have that can be relied upon.
    fn computed(&self, task: &Task, defined: &[Defined]) -> Result<Vec<Defined>, Fault> {
        let length = self.buffers[task.output().0].elements;
        let ranges = |elements| std::iter::once(0..elements).collect();
        let all = |elements| Defined { ranges: ranges(elements), lacking: None };
        let is_map = task.kernel.can_be_cut() && task.kernel.shape() == Shape::Map;
        let mut found = all(length);
        for (input, read) in task.reads.iter().enumerate() {
            let Defined { ranges, lacking: Some(lacking) } = &defined[read.0] else { continue };
            let is_own = matches!(task.kernel, TaskKernel::Own(_));
            if is_own && (task.reads_whole(input) || !is_map) {
                // The kernel knows which of it to use.
                continue;
            }
            if task.reads_whole(input) || !is_map {
                let problem = format!(
                    "covers only a part of the buffer, but task `{}` uses all of it",
                    task.name
                );
                return Err(self.wrong(*lacking, &problem, "remove `needed`"));
            }
            let narrowed = |range| narrowed(range, &task.kernel, task.halo(), length);
            let inner: Ranges = ranges.iter().filter_map(narrowed).collect();
            found.ranges = common(&found.ranges, &inner);
            found.lacking = Some(*lacking);
        }
        Ok(match is_map {
            true => vec![found; task.writes.len()],
            false => task.writes.iter().map(|id| all(self.buffers[id.0].elements)).collect(),
        })
    }

    /// What the host needs of a result is among what is defined of it.
    fn check_result(&self, id: BufferId, task: &Task, found: &Defined) -> Result<(), Fault> {
        let buffer = &self.buffers[id.0];
        let Some(lacking) = found.lacking.filter(|_| buffer.home != Home::Scratch) else {
            return Ok(());
        };
        let needed = buffer.needed.unwrap_or_else(|| Needed::from(0..buffer.elements));
        let needed: Ranges = needed.ranges().collect();
        if elements(&common(&needed, &found.ranges)) == elements(&needed) {
            return Ok(());
        }
        let (result, task) = (&buffer.name, &task.name);
        let problem = format!(
            "is too small: task `{task}` needs more of the buffer to compute what is needed of \
             `{result}`"
        );
        let help = format!(
            "reduce `needed` of `{result}`, or add the elements that it depends on to \
                     this `needed`"
        );
        let needed_here = self.raw_buffers[id.0].name.span();
        Err(self.wrong(lacking, &problem, &help).and(needed_here, "needed here"))
    }

    fn wrong(&self, BufferId(id): BufferId, problem: &str, help: &str) -> Fault {
        let buffer = &self.raw_buffers[id];
        let span = buffer.needed.as_ref().map_or(buffer.name.span(), Spanned::span);
        let message = format!("`needed` of buffer `{}` {problem}", buffer.name);
        Fault::new(message, span, "this part", help)
    }
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

fn elements(ranges: &Ranges) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}
