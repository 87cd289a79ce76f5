//! The fastest plans of both sides at one size, with as few simulations as bounds allow.

use super::bounds::Bounds;
use super::candidates::{Candidates, Plan, strategies, untried};
use super::scaling::scaled;
use super::scheduled::{add_schedules_quickly, typical_chunks};
use super::turns::{CLEARLY, Lead, lead_of};
use crate::cost::CompileError;
use crate::families::{Refusal, Strategy, draft, parts};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::simulate::{Tally, makespan};
use crate::units::Span;
use rayon::prelude::*;

/// The logarithm of how many times as fast as the best plan on the CPU the best one on the GPU is,
/// in a pass, with the plans that [`break_even`](super::break_even()) tries. `None` if a side has
/// none.
pub fn lead(workload: &Workload, profile: &Profile) -> Option<f64> {
    race(workload, profile, &Tally::default()).lead().known()
}

/// The fastest plan of each side at a size. `None`: no plan that can be predicted fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSize {
    /// Elements of the largest buffer that grows with the workload.
    pub elements: u64,
    pub cpu: Option<Span>,
    pub gpu: Option<Span>,
}

/// Each size is so many times the one before.
const STEP: u64 = 4;

/// The fastest times of a pass from one size to another, on the machine without scatter, with the
/// plans that a break-even tries.
pub fn by_size(workload: &Workload, profile: &Profile, [from, to]: [u64; 2]) -> Vec<AtSize> {
    let sizes = std::iter::successors(Some(from), |size| size.checked_mul(STEP));
    let sizes: Vec<u64> = sizes.take_while(|size| *size < to).chain([to]).collect();
    let at = |elements: u64| {
        let [cpu, gpu] = race(&scaled(workload, elements)?, profile, &Tally::default()).times();
        Some(AtSize { elements, cpu, gpu })
    };
    sizes.into_par_iter().filter_map(at).collect()
}

/// How far a race goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// Until no other plan can turn the lead, or bring it near a tie.
    LeadIsClear,
    /// Until the fastest plan of each side is known.
    BestAreKnown,
}

/// Finds the fastest plan of each side.
fn race<'a>(scaled: &Workload, profile: &'a Profile, done: &'a Tally) -> Race<'a> {
    race_until(scaled, profile, done, Until::BestAreKnown)
}

/// Sets the plans of both sides against each other.
pub(super) fn race_until<'a>(
    scaled: &Workload,
    profile: &'a Profile,
    done: &'a Tally,
    until: Until,
) -> Race<'a> {
    let none = Candidates::none(scaled);
    let knows_cpu = none.other_threads(profile).is_none();
    let sides = [Side::default(), Side::default()];
    let all_use_cpu = none.keeps_tasks_on_cpu;
    let mut race = Race { profile, knows_cpu, all_use_cpu, done, until, sides };
    for program in &scaled.programs {
        race.enter(Plan { strategy: None, program: program.clone() });
    }
    if scaled.tasks.is_empty() {
        return race;
    }
    let mut bounds = Bounds::new(scaled, profile);
    let gpus = profile.gpu_counts();
    let strategies = strategies(scaled, &gpus);
    for refusal in untried(scaled, &strategies, &gpus) {
        race.refuse(&refusal);
    }
    // The plan with the lowest bound may be the fastest one. It is worth knowing early. What the
    // CPU takes is known before the GPU's plans are asked whether they are clear of it.
    let mut bounded: Vec<(Span, Strategy)> =
        strategies.into_iter().map(|one| (bounds.of(one), one)).collect();
    bounded.sort_by_key(|(bound, strategy)| (!strategy.is_on_cpu(), *bound));
    for (bound, strategy) in bounded {
        if race.may_win(strategy.is_on_cpu(), bound) {
            match draft(scaled, strategy) {
                Ok(program) => race.enter(Plan { strategy: Some(strategy), program }),
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
        scheduled.plans.into_iter().for_each(|plan| race.enter(plan));
    }
    race
}

/// The plans of both sides at one size.
pub(super) struct Race<'a> {
    profile: &'a Profile,
    knows_cpu: bool,
    all_use_cpu: bool,
    done: &'a Tally,
    until: Until,
    /// The CPU and the GPU.
    sides: [Side; 2],
}

/// The shortest time of a side with its program, whether a plan's time is unknown, and whether one
/// does not fit. Once there is a time, nobody asks for the rest.
#[derive(Default)]
struct Side {
    best: Option<(Span, Program)>,
    is_unknown: bool,
    is_too_large: bool,
}

impl Race<'_> {
    fn side(&mut self, is_on_cpu: bool) -> &mut Side {
        &mut self.sides[usize::from(!is_on_cpu)]
    }

    /// Whether a plan that takes at least so long may be the fastest of its side, and whether that
    /// matters.
    fn may_win(&mut self, is_on_cpu: bool, bound: Span) -> bool {
        let may_be_fastest = |(best, _): &(Span, Program)| bound < *best;
        self.side(is_on_cpu).best.as_ref().is_none_or(may_be_fastest)
            && (is_on_cpu || self.until == Until::BestAreKnown || !self.is_clear(bound))
    }

    /// Whether a plan on the GPU that takes at least so long changes nothing: the GPU leads clearly
    /// without it, or it does not bring the GPU near the CPU.
    fn is_clear(&self, bound: Span) -> bool {
        let [Some(cpu), Some(gpu)] = self.times() else { return false };
        let is_clear = |fast: Span, slow: Span| fast.nanos_f64() * CLEARLY.exp() < slow.nanos_f64();
        is_clear(gpu, cpu) || is_clear(cpu, bound)
    }

    /// The shortest times that are known, of the CPU and of the GPU.
    pub fn times(&self) -> [Option<Span>; 2] {
        self.sides.each_ref().map(|side| side.best.as_ref().map(|(time, _)| *time))
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.side(refusal.strategy.is_on_cpu()).is_too_large |= refusal.is_too_large;
    }

    fn enter(&mut self, plan: Plan) {
        self.done.add(plan.program.body.len() as u64);
        let makespan = makespan(&plan.program, self.profile);
        let is_known = self.knows_cpu || !(self.all_use_cpu || plan.uses_cpu());
        let side = self.side(plan.is_on_cpu());
        match makespan {
            Ok(_) if !is_known => side.is_unknown = true,
            Ok(time) => {
                if side.best.as_ref().is_none_or(|(best, _)| time < *best) {
                    side.best = Some((time, plan.program));
                }
            }
            Err(CompileError::Unknown(_)) => side.is_unknown = true,
            Err(CompileError::DoesNotFit(_)) => side.is_too_large = true,
        }
    }

    /// The programs of the fastest plans, of the CPU and of the GPU.
    pub fn programs(self) -> Option<[Program; 2]> {
        let [cpu, gpu] = self.sides.map(|side| side.best.map(|(_, program)| program));
        Some([cpu?, gpu?])
    }

    pub fn lead(self) -> Lead {
        let has_lost = |side: &Side| side.is_too_large && !side.is_unknown;
        let [cpu, gpu] = &self.sides;
        match [&cpu.best, &gpu.best] {
            [Some((cpu, _)), Some((gpu, _))] => Lead::Of(lead_of([*cpu, *gpu])),
            [Some(_), None] if has_lost(gpu) => Lead::Of(f64::NEG_INFINITY),
            [None, Some(_)] if has_lost(cpu) => Lead::Of(f64::INFINITY),
            [None, None] if has_lost(cpu) && has_lost(gpu) => Lead::NoPlan,
            _ => Lead::Unknown,
        }
    }
}
