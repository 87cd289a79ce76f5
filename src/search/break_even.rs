//! From which size on the GPU wins.

use super::candidates::candidates;
use crate::plan::Family;
use crate::profile::Profile;
use crate::scenario::Workload;
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
    let scaled = scaled(workload, elements);
    let (mut cpu, mut gpu): (Option<Span>, Option<Span>) = (None, None);
    for plan in candidates(&scaled).plans {
        let best = if plan.strategy.family == Family::Cpu { &mut cpu } else { &mut gpu };
        if let Ok(timeline) = simulate(&plan, profile) {
            *best = Some(best.map_or(timeline.makespan, |best| best.min(timeline.makespan)));
        }
    }
    Some(gpu? < cpu?)
}

/// The workload with its largest buffer at `elements` and the others in proportion.
fn scaled(workload: &Workload, elements: u64) -> Workload {
    let largest = workload.buffers.iter().map(|buffer| buffer.elements).max().unwrap_or(1);
    let mut scaled = workload.clone();
    // Limits are those of the size that was asked about.
    scaled.limits = crate::scenario::Limits::default();
    for buffer in &mut scaled.buffers {
        let share = u128::from(buffer.elements) * u128::from(elements) / u128::from(largest);
        // A reduction's single number stays one.
        buffer.elements = if buffer.elements == 1 { 1 } else { (share as u64).max(1) };
    }
    scaled
}
