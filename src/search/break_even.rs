//! From which size on the GPU wins.

use super::candidates::candidates_over;
use crate::kernels::Shape;
use crate::plan::Family;
use crate::profile::Profile;
use crate::scenario::{BufferId, Task, Workload};
use crate::simulate::simulate;
use crate::units::Span;

/// What becomes of the verdict as the workload grows and shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakEven {
    /// From about this many elements in the largest buffer on, the GPU is faster.
    At(u64),
    /// The GPU is faster at every size tried.
    Always,
    /// The CPU is faster at every size tried.
    Never,
}

/// Sizes of the largest buffer that are tried.
const SMALLEST: u64 = 1 << 8;
const LARGEST: u64 = 1 << 28;

/// Scales all buffers of the workload together and looks for the size from
/// which on the best GPU plan beats the CPU plan. `None` where the profile does
/// not know what it takes, or the workload has no plan of one of the two kinds.
pub fn break_even(workload: &Workload, profile: &Profile) -> Option<BreakEven> {
    let (mut low, mut high) = (SMALLEST, LARGEST);
    if gpu_wins(workload, profile, low)? {
        return Some(BreakEven::Always);
    }
    if !gpu_wins(workload, profile, high)? {
        return Some(BreakEven::Never);
    }
    // Halving the ratio keeps the relative precision the same everywhere.
    while high > low + low / 16 {
        let middle = (low as f64 * high as f64).sqrt() as u64;
        if gpu_wins(workload, profile, middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(BreakEven::At(high))
}

fn gpu_wins(workload: &Workload, profile: &Profile, elements: u64) -> Option<bool> {
    let scaled = scaled(workload, elements)?;
    let (mut cpu, mut gpu): (Option<Span>, Option<Span>) = (None, None);
    for plan in candidates_over(&scaled, &profile.gpu_counts()).plans {
        let best = if plan.strategy.family == Family::Cpu { &mut cpu } else { &mut gpu };
        if let Ok(timeline) = simulate(&plan, profile) {
            *best = Some(best.map_or(timeline.makespan, |best| best.min(timeline.makespan)));
        }
    }
    Some(gpu? < cpu?)
}

/// The workload with its largest buffer at `elements` and the others in
/// proportion. Sizes that arguments say, such as a reduction's results and what
/// is read whole, stay as they are, and rows stay whole. `None` where a task goes
/// along a buffer that has to stay.
fn scaled(workload: &Workload, elements: u64) -> Option<Workload> {
    let stays = |id: BufferId| {
        let writer = workload.writer_of(id).map(|task| workload.task(task).kernel.shape());
        writer == Some(Shape::Reduction) || workload.is_read_whole(id)
    };
    let goes_along = |task: &Task| {
        let inputs = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        let output = (task.kernel.shape() == Shape::Map).then_some(task.writes);
        inputs.map(|input| task.reads[input]).chain(output).collect::<Vec<_>>()
    };
    if workload.tasks.iter().flat_map(goes_along).any(stays) {
        return None;
    }
    let changes = |&id: &usize| !stays(BufferId(id));
    let ids: Vec<usize> = (0..workload.buffers.len()).filter(changes).collect();
    let largest = ids.iter().map(|&id| workload.buffers[id].elements).max().unwrap_or(1);
    let grain = workload.grain();
    let mut scaled = workload.clone();
    // Limits are those of the size that was asked about.
    scaled.limits = crate::scenario::Limits::default();
    for id in ids {
        let buffer = &mut scaled.buffers[id];
        let share = u128::from(buffer.elements) * u128::from(elements) / u128::from(largest);
        buffer.elements = (share as u64 / grain).max(1) * grain;
    }
    Some(scaled)
}
