//! At which sizes the GPU wins.

use super::candidates::{Candidates, Plan, strategies, untried};
use super::plan_bound::Bounds;
use super::scaling::{largest, scaled};
use super::scheduled::{add_schedules_quickly, typical_chunks};
use super::turns::{CLEARLY, Contest, Lead, Scale, Wins, lead_of, turns, wins};
use crate::cost::CompileError;
use crate::families::{Refusal, Strategy, draft, parts};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::simulate::{DRAWS, Tally, forecast_counted, makespan};
use crate::units::Span;
use rayon::prelude::*;
use std::ops::RangeInclusive;

/// At which sizes which side wins, with the plans that [`candidates_over`](super::candidates_over)
/// tries, and tasks scheduled without much search. Other plans may win, or fit, where none of these
/// does.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakEven {
    /// Where the best plan on the GPU beats the one on the CPU: nowhere if there are none.
    pub gpu_wins: Vec<Wins>,
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
/// Finds the sizes at which the best GPU plan beats the best CPU plan. All buffers are scaled
/// together, but for those that keep their size. A plan that does not fit has lost. `None` if the
/// profile does not know what a side takes, or the workload has no plan for a side.
pub fn break_even(workload: &Workload, profile: &Profile) -> Option<BreakEven> {
    break_even_counted(workload, profile, (DRAWS, 1), &Tally::default())
}

/// Like [`break_even`], with ranges from so many draws with a seed. Counts the calls of each plan
/// that is simulated.
pub fn break_even_counted(
    workload: &Workload,
    profile: &Profile,
    draws: (usize, u64),
    done: &Tally,
) -> Option<BreakEven> {
    let mut tried: Vec<u64> = TRIED.map(|power| 1 << power).collect();
    // The workload's own size is tried, too, so that the result agrees with its verdict: times may
    // jump between two powers, for example where the CPU begins to use all threads.
    tried.push(largest(workload));
    tried.sort_unstable();
    tried.dedup();
    let lead = |elements: u64| who_leads(workload, elements, profile, done);
    let leads: Vec<Lead> = tried.par_iter().map(|&elements| lead(elements)).collect();
    let tried = tried.into_iter().map(|elements| elements as f64);
    let known: Vec<(f64, Lead)> =
        tried.zip(leads).take_while(|(_, lead)| *lead != Lead::NoPlan).collect();
    let (smallest, largest) = (known.first()?.0, known.last()?.0);
    let sizes = BySize { workload, profile, draws, done, known: &known };
    let scale = Scale { is_whole: true };
    let starts = |wanted: f64| {
        let at = known.iter().position(|(_, lead)| *lead == Lead::Of(wanted))?;
        let found = match at.checked_sub(1) {
            Some(before) => scale.start((known[before].0, known[at].0), |middle| {
                Some(sizes.lead(middle) == Lead::Of(wanted))
            }),
            None => Some(smallest),
        };
        found.map(|elements| elements as u64)
    };
    let of = |&(elements, lead): &(f64, Lead)| match lead {
        Lead::Of(lead) => Some((elements, lead)),
        Lead::NoPlan | Lead::Unknown => None,
    };
    let leads = known.iter().map(of).collect::<Option<Vec<_>>>()?;
    let values: Vec<f64> = known.iter().map(|(elements, _)| *elements).collect();
    let turns = turns(&values, 0..values.len(), scale, &sizes);
    Some(BreakEven {
        gpu_wins: wins(&leads, &turns),
        tried: [smallest as u64, largest as u64],
        too_large_for_gpu: starts(f64::NEG_INFINITY),
        too_large_for_cpu: starts(f64::INFINITY),
    })
}

/// The plans of both sides at every size.
struct BySize<'a> {
    workload: &'a Workload,
    profile: &'a Profile,
    draws: (usize, u64),
    done: &'a Tally,
    /// Leads that were found before.
    known: &'a [(f64, Lead)],
}

/// Who leads at a size, and whether clearly. A clear lead may be any larger than the one returned,
/// or smaller, as long as it stays clear.
fn who_leads(workload: &Workload, elements: u64, profile: &Profile, done: &Tally) -> Lead {
    let Some(scaled) = scaled(workload, elements) else { return Lead::Unknown };
    race_until(&scaled, profile, done, Until::LeadIsClear).lead()
}

impl Contest for BySize<'_> {
    fn lead(&self, elements: f64) -> Lead {
        let known = self.known.iter().find(|(at, _)| *at == elements).map(|(_, lead)| *lead);
        let Self { workload, profile, done, .. } = self;
        known.unwrap_or_else(|| who_leads(workload, elements as u64, profile, done))
    }

    fn range(&self, elements: f64) -> Option<(f64, f64)> {
        let scaled = scaled(self.workload, elements as u64)?;
        let Race { sides: [cpu, gpu], .. } = race(&scaled, self.profile, self.done);
        let programs = [gpu.best?.1, cpu.best?.1];
        let calls: usize = programs.iter().map(|program| program.body.len()).sum();
        let (draws, seed) = self.draws;
        let draws = draws.min((DRAWN_FREELY / calls.max(1)).max(FEW));
        let mut drawn = forecast_counted(&programs, self.profile, (draws, seed), self.done);
        let (cpu, gpu) = (drawn.pop()?.ok()?, drawn.pop()?.ok()?);
        Some(gpu.lead_over(&cpu, [Span::ZERO; 2], 1))
    }
}

/// A range near a turn comes from fewer draws, if not less than the second number, where these many
/// calls are not enough.
const DRAWN_FREELY: usize = 250_000;
const FEW: usize = 20;

/// The logarithm of how many times as fast as the best plan on the CPU the best one on the GPU is,
/// in a pass, with the plans that [`break_even`] tries. `None` if a side has none.
pub fn lead(workload: &Workload, profile: &Profile) -> Option<f64> {
    match race(workload, profile, &Tally::default()).lead() {
        Lead::Of(lead) => Some(lead),
        Lead::NoPlan | Lead::Unknown => None,
    }
}

/// How far a race goes.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// Until no other plan can turn the lead, or bring it near a tie.
    LeadIsClear,
    /// Until the fastest plan of each side is known.
    BestAreKnown,
}

/// Finds the fastest plan of each side.
pub(super) fn race<'a>(scaled: &Workload, profile: &'a Profile, done: &'a Tally) -> Race<'a> {
    race_until(scaled, profile, done, Until::BestAreKnown)
}

/// Sets the plans of both sides against each other.
fn race_until<'a>(
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

    fn lead(self) -> Lead {
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
