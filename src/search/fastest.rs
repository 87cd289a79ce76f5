//! The fastest plans of both sides, on the machine without scatter.

use super::candidates::{Candidates, Plan, strategies, untried};
use super::ranking::{Ranking, rank_counted};
use super::refine::candidates_for;
use super::scaling::scaled;
use super::scheduled::{How, add_schedules, schedules};
use super::turns::{Lead, lead_of};
use crate::cost::CompileError;
use crate::families::{Strategy, draft};
use crate::machine;
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};
use crate::simulate::{Draws, Tally, makespan};
use crate::units::Span;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The logarithm of how many times as fast as the best plan on the CPU the best one on the GPU is,
/// in a pass, with the plans that [`break_even`](super::break_even()) tries. `None` if a side has
/// none.
pub fn lead(workload: &Workload, profile: &Profile) -> Option<f64> {
    Fastest::of(workload, profile, &Tally::default()).lead().known()
}

/// The fastest plan of each side at a size. `None`: no plan that can be predicted fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSize {
    /// Elements of the largest buffer that grows with the workload.
    pub elements: u64,
    pub cpu: Option<Span>,
    pub gpu: Option<Span>,
    /// Whether the CPU has a part in the fastest plan that uses the GPU.
    pub is_shared: bool,
}

/// Each size is so many times the one before.
const STEP: u64 = 4;

/// The fastest times of a pass from one size to another, on the machine without scatter, with the
/// plans that a break-even tries.
pub fn by_size(workload: &Workload, profile: &Profile, [from, to]: [u64; 2]) -> Vec<AtSize> {
    let sizes = std::iter::successors(Some(from), |size| size.checked_mul(STEP));
    let sizes: Vec<u64> = sizes.take_while(|size| *size < to).chain([to]).collect();
    let at = |elements: u64| {
        let fastest = Fastest::of(&scaled(workload, elements)?, profile, &Tally::default());
        let [cpu, gpu] = fastest.times();
        let best = fastest.sides[1].best.as_ref();
        let is_shared = best.is_some_and(|(_, plan)| plan.side() == machine::Side::Both);
        Some(AtSize { elements, cpu, gpu, is_shared })
    };
    sizes.into_par_iter().filter_map(at).collect()
}

/// A plan is out of the race if it takes so much longer than the fastest of its side on the machine
/// without scatter: scatter moves plans of one side alike.
const NEAR: f64 = 0.03;

/// Like [`rank`](super::rank) of [`candidates_for`], but of each side only the plans that may be
/// its best are drawn. It says the same about winners and their times, in a small part of the time.
pub fn rank_finalists(
    workload: &Workload,
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Ranking {
    let mut candidates = candidates_for(workload, profile);
    let times = times(&candidates.plans, profile, done);
    let sides = candidates.plans.iter().map(Plan::is_on_cpu);
    let timed: Vec<(bool, Option<Span>)> = sides.zip(times.into_iter().map(Result::ok)).collect();
    let best = [false, true].map(|side| {
        let times = timed.iter().filter(|(of, _)| *of == side).filter_map(|(_, time)| *time);
        times.min()
    });
    let mut timed = timed.iter();
    // What cannot be predicted is named, whatever it would take.
    candidates.plans.retain(|_| match timed.next() {
        Some(&(side, Some(time))) => best[usize::from(side)]
            .is_none_or(|best| time.nanos_f64() <= (1.0 + NEAR) * best.nanos_f64()),
        _ => true,
    });
    rank_counted(candidates, profile, draws, done)
}

fn times(plans: &[Plan], profile: &Profile, done: &Tally) -> Vec<Result<Span, CompileError>> {
    let time = |plan: &Plan| {
        done.add(plan.program.body.len() as u64);
        makespan(&plan.program, profile)
    };
    plans.par_iter().map(time).collect()
}

/// The fastest plan of the CPU, and that of the GPU.
pub(super) struct Fastest {
    sides: [Side; 2],
    /// The strategies of plans that are not far from the fastest of their side. If these have many
    /// calls in total, only the fastest of them.
    pub near: BTreeSet<Strategy>,
    /// The number of calls of all plans that were tried.
    pub calls: u64,
}

/// A plan that takes more than this share longer than the fastest of its side is not the fastest
/// at a size between this one and the next that is tried, either.
const FAR: f64 = 0.5;

/// The plans that are tried between two sizes have about this many calls in total.
const MOST_CALLS_NEAR: u64 = 50_000;

/// A plan that was tried. Fields are compared in their order: the fastest comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    time: Span,
    strategy: Strategy,
    /// Its place among the sides.
    side: usize,
    calls: u64,
}

/// The shortest time of a side with its plan, whether a plan's time is unknown, and whether one
/// does not fit.
#[derive(Default)]
struct Side {
    best: Option<(Span, Plan)>,
    is_unknown: bool,
    is_too_large: bool,
}

impl Fastest {
    /// Finds the fastest plan of each side among those that a break-even tries.
    pub fn of(workload: &Workload, profile: &Profile, done: &Tally) -> Self {
        let mut found = Candidates::spelled_out(workload);
        if !workload.tasks.is_empty() {
            let gpus = profile.gpu_counts();
            let tried = strategies(workload, &gpus);
            found.refused = untried(workload, &tried, &gpus);
            found.add(workload, tried, draft);
            add_schedules(&mut found, schedules(workload, profile, How::Quickly));
        }
        Self::among(found, profile, done)
    }

    /// Finds the fastest plan of each side among those of some strategies. Tasks are scheduled
    /// quickly if asked to, and cut as those strategies cut them if not.
    pub fn of_strategies(
        workload: &Workload,
        (tried, is_quick): (&BTreeSet<Strategy>, bool),
        profile: &Profile,
        done: &Tally,
    ) -> Self {
        let mut found = Candidates::spelled_out(workload);
        let is_scheduled = |one: &Strategy| one.family.name() == FamilyName::ByTask;
        let (scheduled, built): (Vec<_>, Vec<_>) = tried.iter().copied().partition(is_scheduled);
        found.add(workload, built, draft);
        let chunks: BTreeSet<u64> = scheduled.iter().map(|one| one.family.chunks()).collect();
        if !chunks.is_empty() {
            let how = match is_quick {
                true => How::Quickly,
                false => How::CutInto(chunks.into_iter().collect()),
            };
            add_schedules(&mut found, schedules(workload, profile, how));
        }
        Self::among(found, profile, done)
    }

    fn among(found: Candidates, profile: &Profile, done: &Tally) -> Self {
        let knows_cpu = found.other_threads(profile).is_none();
        let times = times(&found.plans, profile, done);
        let mut sides = [Side::default(), Side::default()];
        for refusal in &found.refused {
            sides[usize::from(!refusal.strategy.is_on_cpu())].is_too_large |= refusal.is_too_large;
        }
        let (mut timed, mut calls) = (Vec::new(), 0);
        for (plan, time) in found.plans.into_iter().zip(times) {
            let is_known = knows_cpu || !(found.keeps_tasks_on_cpu || plan.uses_cpu());
            let (place, own_calls) =
                (usize::from(!plan.is_on_cpu()), plan.program.body.len() as u64);
            calls += own_calls;
            if let (Some(strategy), Ok(time)) = (plan.strategy, &time) {
                timed.push(Timed { time: *time, strategy, side: place, calls: own_calls });
            }
            let side = &mut sides[place];
            match time {
                Ok(_) if !is_known => side.is_unknown = true,
                Ok(time) if side.best.as_ref().is_none_or(|(best, _)| time < *best) => {
                    side.best = Some((time, plan));
                }
                Ok(_) => {}
                Err(CompileError::Unknown(_)) => side.is_unknown = true,
                Err(CompileError::DoesNotFit(_)) => side.is_too_large = true,
            }
        }
        let best = sides.each_ref().map(|side| side.best.as_ref().map(|(time, _)| *time));
        Self { near: near(timed, best), sides, calls }
    }

    /// The shortest times, of the CPU and of the GPU.
    pub fn times(&self) -> [Option<Span>; 2] {
        self.sides.each_ref().map(|side| side.best.as_ref().map(|(time, _)| *time))
    }

    /// The strategies of the fastest plans, unless the scenario spells them out.
    pub fn winners(&self) -> BTreeSet<Strategy> {
        self.sides.iter().filter_map(|side| side.best.as_ref()?.1.strategy).collect()
    }

    /// The programs of the fastest plans, of the CPU and of the GPU.
    pub fn programs(self) -> Option<[Program; 2]> {
        let [cpu, gpu] = self.sides.map(|side| side.best.map(|(_, plan)| plan.program));
        Some([cpu?, gpu?])
    }

    pub fn lead(&self) -> Lead {
        let has_lost = |side: &Side| side.is_too_large && !side.is_unknown;
        let [cpu, gpu] = self.sides.each_ref().map(has_lost);
        match self.times() {
            [Some(cpu), Some(gpu)] => Lead::Of(lead_of([cpu, gpu])),
            [Some(_), None] if gpu => Lead::Of(f64::NEG_INFINITY),
            [None, Some(_)] if cpu => Lead::Of(f64::INFINITY),
            [None, None] if cpu && gpu => Lead::NoPlan,
            _ => Lead::Unknown,
        }
    }
}

/// The strategies of the plans that are not far from the best time of their side: the fastest of
/// each side, and then as many others as have [`MOST_CALLS_NEAR`] calls with them.
fn near(mut timed: Vec<Timed>, best: [Option<Span>; 2]) -> BTreeSet<Strategy> {
    timed.retain(|one| {
        let best = best[one.side];
        best.is_none_or(|best| one.time.nanos_f64() <= (1.0 + FAR) * best.nanos_f64())
    });
    timed.sort_unstable();
    let (mut calls_left, mut has_one) = (MOST_CALLS_NEAR, [false; 2]);
    timed.retain(|one| {
        let is_tried = one.calls <= calls_left || !has_one[one.side];
        has_one[one.side] = true;
        if is_tried {
            calls_left = calls_left.saturating_sub(one.calls);
        }
        is_tried
    });
    timed.into_iter().map(|one| one.strategy).collect()
}
