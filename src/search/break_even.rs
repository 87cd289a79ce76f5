//! At which sizes the GPU wins.

use super::candidates::{Candidates, Plan, strategies, untried};
use super::plan_bound::Bounds;
use super::scaling::{largest, scaled};
use super::scheduled::{add_schedules_quickly, typical_chunks};
use crate::cost::CompileError;
use crate::families::{Refusal, Strategy, draft, parts};
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::simulate::{Tally, makespan};
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

/// At which sizes which side wins, with the plans that [`candidates_over`](super::candidates_over)
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
    let lead = |elements: u64| match scaled(workload, elements) {
        Some(scaled) => lead_of(&scaled, profile, done),
        None => Lead::Unknown,
    };
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

/// The logarithm of how many times as fast as the best plan on the CPU the best one on the GPU is,
/// in a pass, with the plans that [`break_even`] tries. `None` if a side has none.
pub fn lead(workload: &Workload, profile: &Profile) -> Option<f64> {
    match lead_of(workload, profile, &Tally::default()) {
        Lead::Of(lead) => Some(lead),
        Lead::NoPlan | Lead::Unknown => None,
    }
}

fn lead_of(scaled: &Workload, profile: &Profile, done: &Tally) -> Lead {
    let none = Candidates::none(scaled);
    let knows_cpu = none.other_threads(profile).is_none();
    let sides = [Side::default(); 2];
    let mut race = Race { profile, knows_cpu, all_use_cpu: none.keeps_tasks_on_cpu, done, sides };
    for program in &scaled.programs {
        race.enter(&Plan { strategy: None, program: program.clone() });
    }
    if scaled.tasks.is_empty() {
        return race.lead();
    }
    let mut bounds = Bounds::new(scaled, profile);
    let gpus = profile.gpu_counts();
    let strategies = strategies(scaled, &gpus);
    for refusal in untried(scaled, &strategies, &gpus) {
        race.refuse(&refusal);
    }
    // The plan with the lowest bound may be the fastest one. It is worth knowing early.
    let mut bounded: Vec<(Span, Strategy)> =
        strategies.into_iter().map(|one| (bounds.of(one), one)).collect();
    bounded.sort_by_key(|(bound, _)| *bound);
    for (bound, strategy) in bounded {
        if race.may_win(strategy.is_on_cpu(), bound) {
            match draft(scaled, strategy) {
                Ok(program) => race.enter(&Plan { strategy: Some(strategy), program }),
                Err(refusal) => race.refuse(&refusal),
            }
        }
    }
    let (typical, most) = (typical_chunks(scaled), gpus.into_iter().max().unwrap_or(1));
    let is_whole = parts(scaled, typical).is_ok_and(|parts| parts.len() == 1);
    let bound = if is_whole { bounds.of_launches(typical, most) } else { Span::ZERO };
    if race.may_win(false, bound) {
        let mut scheduled = Candidates::none(scaled);
        add_schedules_quickly(&mut scheduled, scaled, profile);
        scheduled.refused.iter().for_each(|refusal| race.refuse(refusal));
        scheduled.plans.iter().for_each(|plan| race.enter(plan));
    }
    race.lead()
}

/// The plans of both sides at one size.
struct Race<'a> {
    profile: &'a Profile,
    knows_cpu: bool,
    all_use_cpu: bool,
    done: &'a Tally,
    /// The CPU and the GPU.
    sides: [Side; 2],
}

/// The shortest time of a side, whether a plan's time is unknown, and whether a plan does not fit.
/// Once there is a time, nobody asks for the rest.
#[derive(Clone, Copy, Default)]
struct Side {
    best: Option<Span>,
    is_unknown: bool,
    is_too_large: bool,
}

impl Race<'_> {
    fn side(&mut self, is_on_cpu: bool) -> &mut Side {
        &mut self.sides[usize::from(!is_on_cpu)]
    }

    /// Whether a plan that takes at least so long may be the fastest of its side.
    fn may_win(&mut self, is_on_cpu: bool, bound: Span) -> bool {
        self.side(is_on_cpu).best.is_none_or(|best| bound < best)
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.side(refusal.strategy.is_on_cpu()).is_too_large |= refusal.is_too_large;
    }

    fn enter(&mut self, plan: &Plan) {
        let program = &plan.program;
        self.done.add(program.body.len() as u64);
        let makespan = makespan(program, self.profile);
        let is_known = self.knows_cpu || !(self.all_use_cpu || plan.uses_cpu());
        let side = self.side(program.computes_on_cpu());
        match makespan {
            Ok(_) if !is_known => side.is_unknown = true,
            Ok(time) => side.best = Some(side.best.map_or(time, |best| best.min(time))),
            Err(CompileError::Unknown(_)) => side.is_unknown = true,
            Err(CompileError::DoesNotFit(_)) => side.is_too_large = true,
        }
    }

    fn lead(self) -> Lead {
        let has_lost = |side: Side| side.is_too_large && !side.is_unknown;
        let [cpu, gpu] = self.sides;
        match [cpu.best, gpu.best] {
            [Some(cpu), Some(gpu)] => Lead::Of((cpu.nanos_f64() / gpu.nanos_f64()).ln()),
            [Some(_), None] if has_lost(gpu) => Lead::Of(f64::NEG_INFINITY),
            [None, Some(_)] if has_lost(cpu) => Lead::Of(f64::INFINITY),
            [None, None] if has_lost(cpu) && has_lost(gpu) => Lead::NoPlan,
            _ => Lead::Unknown,
        }
    }
}
