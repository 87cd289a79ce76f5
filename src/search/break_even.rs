//! At which sizes the GPU wins.

use super::candidates::candidates_over;
use super::scheduled::add_schedules_quickly;
use crate::cost::CompileError;
use crate::kernels::Shape;
use crate::profile::Profile;
use crate::program::BufferId;
use crate::scenario::{Buffer, Task, Workload};
use crate::simulate::{Tally, simulate};
use crate::timeline::Timeline;
use crate::units::Span;
use rayon::prelude::*;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A range of sizes, in elements of a workload's largest buffer. An end that is left out is the end
/// of what was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sizes {
    /// The smallest size. `null`: the smallest that was tried.
    pub from: Option<u64>,
    /// The largest size. `null`: the largest that was tried.
    pub until: Option<u64>,
}

/// At which sizes which side wins, with the plans that [`candidates_over`]
/// tries, and tasks scheduled without much search. Other plans may win, or fit, where none of these
/// does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakEven {
    /// Where the best plan on the GPU beats the one on the CPU: nowhere if there are none.
    pub gpu_wins: Vec<Sizes>,
    /// The smallest and the largest size tried.
    pub tried: [u64; 2],
    /// From about so many elements on, none of the plans on the GPU fits into memory, while one on
    /// the CPU does.
    pub too_large_for_gpu: Option<u64>,
    /// From about so many elements on, none of the plans on the CPU fits into memory, while one on
    /// the GPU does.
    pub too_large_for_cpu: Option<u64>,
}

/// Sizes of the largest buffer that are tried, as powers of two.
const TRIED: RangeInclusive<u32> = 8..=28;
/// A lead of less than this share does not change the winner: near a tie it would change at every
/// size.
const CLEARLY: f64 = 0.05;

/// Finds the sizes at which the best GPU plan beats the best CPU plan. All buffers are scaled
/// together, but for those that keep their size. A plan that does not fit has lost. `None` if the
/// profile does not know what a side takes, or the workload has no plan for a side.
pub fn break_even(workload: &Workload, profile: &Profile) -> Option<BreakEven> {
    break_even_counted(workload, profile, &Tally::default())
}

/// Like [`break_even`]. Counts the calls of each plan that is simulated.
pub fn break_even_counted(
    workload: &Workload,
    profile: &Profile,
    done: &Tally,
) -> Option<BreakEven> {
    let mut tried: Vec<u64> = TRIED.map(|power| 1 << power).collect();
    // The workload's own size is tried, too, so that the result agrees with its verdict: times may
    // jump between two powers, for example where the CPU begins to use all threads.
    tried.push(largest(workload));
    tried.sort_unstable();
    tried.dedup();
    let lead = |elements: u64| lead(workload, profile, elements, done);
    let leads: Vec<Lead> = tried.par_iter().map(|&elements| lead(elements)).collect();
    let known: Vec<(u64, Lead)> =
        tried.into_iter().zip(leads).take_while(|(_, lead)| *lead != Lead::NoPlan).collect();
    let (smallest, largest) = (known.first()?.0, known.last()?.0);
    let starts = |wanted: f64| {
        let at = known.iter().position(|(_, lead)| *lead == Lead::Of(wanted))?;
        match at.checked_sub(1) {
            Some(before) => change(known[before].0, known[at].0, |middle| {
                Some(lead(middle) != Lead::Of(wanted))
            }),
            None => Some(smallest),
        }
    };
    Some(BreakEven {
        gpu_wins: gpu_wins(&known, lead)?,
        tried: [smallest, largest],
        too_large_for_gpu: starts(f64::NEG_INFINITY),
        too_large_for_cpu: starts(f64::INFINITY),
    })
}

/// The ranges of sizes at which the GPU leads, from the leads at sizes that were tried and, where
/// they change, between them.
fn gpu_wins(known: &[(u64, Lead)], lead: impl Fn(u64) -> Lead) -> Option<Vec<Sizes>> {
    let mut known = known.iter().copied();
    let (mut last, Lead::Of(first)) = known.next()? else { return None };
    let mut gpu_wins = first > 0.0;
    let mut found = if gpu_wins { vec![Sizes { from: None, until: None }] } else { Vec::new() };
    for (elements, lead_here) in known {
        let Lead::Of(here) = lead_here else { return None };
        if (here > 0.0) == gpu_wins {
            last = elements;
        } else if here.abs() > CLEARLY {
            let change = change(last, elements, |middle| match lead(middle) {
                Lead::Of(lead) => Some((lead > 0.0) == gpu_wins),
                Lead::NoPlan | Lead::Unknown => None,
            })?;
            match found.last_mut().filter(|_| gpu_wins) {
                Some(sizes) => sizes.until = Some(change),
                None => found.push(Sizes { from: Some(change), until: None }),
            }
            (gpu_wins, last) = (!gpu_wins, elements);
        }
    }
    Some(found)
}

/// Finds about where a condition ends that holds at `low` and not at `high`.
fn change(mut low: u64, mut high: u64, holds: impl Fn(u64) -> Option<bool>) -> Option<u64> {
    // Halving the ratio keeps the relative precision the same everywhere.
    while high > low + low / 16 {
        let middle = (low as f64 * high as f64).sqrt() as u64;
        *(if holds(middle)? { &mut low } else { &mut high }) = middle;
    }
    Some(high)
}

/// Which side is faster at a size.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lead {
    /// The logarithm of how many times as fast the GPU is; below 0, the CPU is faster.
    Of(f64),
    /// No plan of either side fits into the machine.
    NoPlan,
    Unknown,
}

fn lead(workload: &Workload, profile: &Profile, elements: u64, done: &Tally) -> Lead {
    let Some(scaled) = scaled(workload, elements) else { return Lead::Unknown };
    let mut candidates = candidates_over(&scaled, &profile.gpu_counts());
    add_schedules_quickly(&mut candidates, &scaled, profile);
    let side_of = |is_on_cpu: bool| usize::from(!is_on_cpu);
    // For the CPU and the GPU: the shortest time, whether a plan's time is unknown, and whether a
    // plan does not fit.
    let (mut best, mut unknown, mut too_large) = ([None::<Span>; 2], [false; 2], [false; 2]);
    for refusal in candidates.refused.iter().filter(|refusal| refusal.is_too_large) {
        too_large[side_of(refusal.strategy.is_on_cpu())] = true;
    }
    let knows_cpu = candidates.other_threads(profile).is_none();
    for plan in &candidates.plans {
        let program = &plan.program;
        let side = side_of(program.computes_on_cpu());
        done.add(program.body.len() as u64);
        match simulate(program, profile) {
            Ok(_) if !knows_cpu && plan.uses_cpu() => unknown[side] = true,
            Ok(Timeline { makespan, .. }) => {
                best[side] = Some(best[side].map_or(makespan, |best| best.min(makespan)));
            }
            Err(CompileError::Unknown(_)) => unknown[side] = true,
            Err(CompileError::DoesNotFit(_)) => too_large[side] = true,
        }
    }
    let has_lost = |side: usize| too_large[side] && !unknown[side];
    match best {
        [Some(cpu), Some(gpu)] => Lead::Of((cpu.nanos_f64() / gpu.nanos_f64()).ln()),
        [Some(_), None] if has_lost(1) => Lead::Of(f64::NEG_INFINITY),
        [None, Some(_)] if has_lost(0) => Lead::Of(f64::INFINITY),
        [None, None] if has_lost(0) && has_lost(1) => Lead::NoPlan,
        _ => Lead::Unknown,
    }
}

/// Whether a buffer keeps its size when others are scaled, since arguments say how large it is: it
/// holds a reduction's results, or is read whole.
pub fn keeps_size(workload: &Workload, id: BufferId) -> bool {
    workload.is_reduced(id) || workload.is_read_whole(id)
}

/// The largest buffer that is scaled; of equals, the first in the scenario.
pub fn largest_scaled(workload: &Workload) -> Option<&Buffer> {
    let buffers = workload.buffers.iter().enumerate().rev();
    let scaled = buffers.filter(|&(id, _)| !keeps_size(workload, BufferId(id)));
    scaled.map(|(_, buffer)| buffer).max_by_key(|buffer| buffer.elements)
}

pub(super) fn largest(workload: &Workload) -> u64 {
    largest_scaled(workload).map_or(1, |buffer| buffer.elements)
}

/// The workload with its largest buffer at `elements` and the others in proportion, in whole rows;
/// buffers that keep their size stay. `None` if a task goes element by element through a buffer
/// that keeps its size, a kernel of the user's own stays whole, or there is no task: programs that
/// are spelled out name ranges of bytes, and are left out.
pub(super) fn scaled(workload: &Workload, elements: u64) -> Option<Workload> {
    let goes_along = |task: &Task| {
        let inputs = (0..task.reads.len()).filter(|&input| !task.reads_whole(input));
        let outputs = task.writes.iter().filter(|_| task.kernel.shape() == Shape::Map);
        inputs.map(|input| task.reads[input]).chain(outputs.copied()).collect::<Vec<_>>()
    };
    let mut gone_along = workload.tasks.iter().flat_map(goes_along);
    let all_scale = workload.tasks.iter().all(|task| task.kernel.scales());
    let none = workload.tasks.is_empty() || !all_scale;
    if none || gone_along.any(|id| keeps_size(workload, id)) {
        return None;
    }
    let (largest, grain) = (largest(workload), workload.grain());
    let mut scaled = Workload { programs: Vec::new(), ..workload.clone() };
    let buffers = scaled.buffers.iter_mut().enumerate();
    for (_, buffer) in buffers.filter(|(id, _)| !keeps_size(workload, BufferId(*id))) {
        let share = u128::from(buffer.elements) * u128::from(elements) / u128::from(largest);
        buffer.elements = (share as u64 / grain).max(1) * grain;
    }
    Some(scaled)
}
