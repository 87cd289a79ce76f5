//! A ranking of the plans that may win, for where many rankings are needed.

use super::candidates::{Candidates, Plan};
use super::for_machine::candidates_for;
use super::ranking::{Ranking, rank_counted};
use super::scheduled::add_schedules_cut_into;
use crate::families::{Strategy, build};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};
use crate::simulate::{Draws, Tally, makespan};
use crate::units::Span;
use rayon::prelude::*;
use std::collections::BTreeSet;

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
    let time = |program: &Program| {
        done.add(program.body.len() as u64);
        makespan(program, profile).ok()
    };
    let times: Vec<Option<Span>> =
        candidates.plans.par_iter().map(|plan| time(&plan.program)).collect();
    let sides = candidates.plans.iter().map(Plan::is_on_cpu);
    let timed: Vec<(bool, Option<Span>)> = sides.zip(times).collect();
    let best = |side: bool| {
        let times = timed.iter().filter(|(of, _)| *of == side).filter_map(|(_, time)| *time);
        times.min()
    };
    let best = [best(false), best(true)];
    let mut timed = timed.iter();
    // What cannot be predicted is named, whatever it would take.
    candidates.plans.retain(|_| match timed.next() {
        Some(&(side, Some(time))) => best[usize::from(side)]
            .is_none_or(|best| time.nanos_f64() <= (1.0 + NEAR) * best.nanos_f64()),
        _ => true,
    });
    rank_counted(candidates, profile, draws, done)
}

/// The fastest plans of the CPU and of the GPU among those of some strategies, with their times on
/// the machine without scatter.
pub(super) fn fastest_of(
    (workload, strategies): (&Workload, &BTreeSet<Strategy>),
    profile: &Profile,
    done: &Tally,
) -> [Option<(Span, Program)>; 2] {
    let mut candidates = Candidates::none(workload);
    candidates.plans.extend(strategies.iter().filter_map(|&strategy| {
        let program = build(workload, strategy).ok()?;
        Some(Plan { strategy: Some(strategy), program })
    }));
    let scheduled =
        strategies.iter().filter(|strategy| strategy.family.name() == FamilyName::ByTask);
    let chunks: BTreeSet<u64> = scheduled.map(|strategy| strategy.family.chunks()).collect();
    if !chunks.is_empty() {
        add_schedules_cut_into(&mut candidates, workload, profile, chunks.into_iter().collect());
    }
    let mut programs = candidates.programs();
    programs.extend(workload.programs.iter().cloned());
    let timed = programs.into_par_iter().filter_map(|program| {
        done.add(program.body.len() as u64);
        Some((makespan(&program, profile).ok()?, program))
    });
    let timed: Vec<(Span, Program)> = timed.collect();
    let side = |on_cpu: bool| {
        let of_side = timed.iter().filter(|(_, program)| program.computes_on_cpu() == on_cpu);
        of_side.min_by_key(|(time, _)| *time).cloned()
    };
    [side(true), side(false)]
}
