//! The candidates that depend on a machine's profile: better plans near the best ones, and shares
//! of the CPU.
//!
//! Families propose plans with a few numbers of chunks, streams and buffers, the same for every
//! machine. With a profile, these are where a search begins. It goes on from the fastest plan whose
//! neighbours nobody has looked at to those: plans that differ from it in one parameter by a step.
//! It ends when all plans about as fast as the fastest have been gone on from.

use super::candidates::{Candidates, Plan, candidates_over};
use super::halving::halved;
use super::scheduled::{How, add_schedules, schedules};
use crate::families::{Family, Hybrid, Strategy, build, draft};
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};
use crate::simulate::{makespan, simulate};
use crate::timeline::Lane;
use crate::units::{Instant, Span};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The search goes on from plans that take at most so much longer than the fastest one: between it
/// and a faster one, there may be such plans.
const NEAR: f64 = 0.02;
/// A plan is worth its place in a table if it takes at most this share of the time of the best plan
/// of its family that was listed.
const GAIN: f64 = 0.995;
/// How many plans are looked at, and how many calls are simulated, at most.
const MOST_PLANS: usize = 5_000;
const MOST_CALLS: usize = 300_000;
/// From how many plans the search goes on at once.
const AT_ONCE: usize = 8;

/// Adds plans that are faster than the best of their family. Where a scenario says which plans to
/// try, there are none.
fn refine(workload: &Workload, profile: &Profile, found: &mut Candidates) {
    let asked = &workload.plans;
    if workload.tasks.is_empty() || !asked.chunks.is_empty() || !asked.families.is_empty() {
        return;
    }
    let mut search = Search::new(workload, profile);
    search.begin_with(&found.plans);
    let listed = search.best_of_families();
    search.go_on();
    for (family, (time, strategy)) in search.best_of_families() {
        let is_better = listed
            .get(&family)
            .is_some_and(|(before, _)| time.nanos_f64() <= GAIN * before.nanos_f64());
        // In one piece, plans of several families may come to the same.
        if is_better
            && let Ok(program) = build(workload, strategy)
            && !found.has(&program)
        {
            found.plans.push(Plan { strategy: Some(strategy), program });
        }
    }
}

/// What is known of plans so far.
struct Search<'a> {
    workload: &'a Workload,
    profile: &'a Profile,
    /// The time of each plan that was looked at; `None` if it has none.
    known: BTreeMap<Strategy, Option<Span>>,
    /// Plans with a time that the search has not gone on from.
    open: BTreeSet<(Span, Strategy)>,
    fastest: Span,
    calls_left: usize,
}

impl<'a> Search<'a> {
    fn new(workload: &'a Workload, profile: &'a Profile) -> Self {
        Self {
            workload,
            profile,
            known: BTreeMap::new(),
            open: BTreeSet::new(),
            fastest: Span::from_nanos(u64::MAX),
            calls_left: MOST_CALLS,
        }
    }

    /// Looks at plans that have been built: those on the GPU that can be changed by a step.
    fn begin_with(&mut self, plans: &[Plan]) {
        let can_change = |strategy: &Strategy| !strategy.family.neighbours().is_empty();
        let strategies = plans.iter().filter_map(|plan| Some((plan.strategy?, &plan.program)));
        let plans: Vec<_> = strategies.filter(|(strategy, _)| can_change(strategy)).collect();
        let timed = plans
            .par_iter()
            .map(|(strategy, program)| (*strategy, makespan(program, self.profile).ok()));
        let timed: Vec<_> = timed.collect();
        timed.into_iter().for_each(|(strategy, time)| self.note(strategy, time));
    }

    fn note(&mut self, strategy: Strategy, time: Option<Span>) {
        self.known.insert(strategy, time);
        if let Some(time) = time {
            self.open.insert((time, strategy));
            self.fastest = self.fastest.min(time);
        }
    }

    /// The best plan of each family that is known.
    fn best_of_families(&self) -> BTreeMap<(FamilyName, bool), (Span, Strategy)> {
        let mut best = BTreeMap::new();
        for (&strategy, time) in &self.known {
            let Some(time) = *time else { continue };
            let family = (strategy.family.name(), strategy.graph);
            let known = best.entry(family).or_insert((time, strategy));
            *known = (*known).min((time, strategy));
        }
        best
    }

    fn go_on(&mut self) {
        while self.known.len() < MOST_PLANS && self.calls_left > 0 {
            let from = self.next();
            if from.is_empty() {
                break;
            }
            let near = from.into_iter().flat_map(|at| {
                let neighbours = at.family.neighbours().into_iter();
                neighbours.map(move |family| Strategy { family, ..at })
            });
            let near: BTreeSet<Strategy> = near.collect();
            self.look_at(near);
        }
    }

    /// The fastest plans that the search has not gone on from.
    fn next(&mut self) -> Vec<Strategy> {
        let most = self.fastest.nanos_f64() * (1.0 + NEAR);
        let mut next = Vec::new();
        while next.len() < AT_ONCE
            && self.open.first().is_some_and(|(time, _)| time.nanos_f64() <= most)
        {
            next.extend(self.open.pop_first().map(|(_, strategy)| strategy));
        }
        next
    }

    /// Finds the times of plans that nobody has looked at.
    fn look_at(&mut self, near: BTreeSet<Strategy>) {
        let (workload, profile) = (self.workload, self.profile);
        let new = near.into_iter().filter(|strategy| !self.known.contains_key(strategy));
        let timed = new.collect::<Vec<_>>().into_par_iter().map(|strategy| {
            let program = draft(workload, strategy).ok();
            let time = program.as_ref().and_then(|program| makespan(program, profile).ok());
            (strategy, time, program.map_or(0, |program| program.body.len()))
        });
        let timed: Vec<_> = timed.collect();
        for (strategy, time, calls) in timed {
            self.calls_left = self.calls_left.saturating_sub(calls);
            self.note(strategy, time);
        }
    }
}

/// Adds plans with the shares of the CPU that fit a machine, where there are plans with others.
/// Families see no profile, so they propose a few shares. With a profile, the share is found at
/// which both sides are done at the same time, and its neighbours are tried.
fn add_shares(found: &mut Candidates, workload: &Workload, profile: &Profile) {
    let hybrid = |plan: &Plan| match plan.strategy {
        Some(strategy @ Strategy { family: Family::Hybrid(hybrid), .. }) => {
            Some((hybrid.chunks, strategy))
        }
        _ => None,
    };
    let cut: BTreeSet<(u64, Strategy)> = found
        .plans
        .iter()
        .filter_map(hybrid)
        .map(|(chunks, strategy)| (chunks, with_share(strategy, chunks, 1)))
        .collect();
    for (chunks, strategy) in cut {
        let Some(even) = even_share(workload, profile, (chunks, strategy)) else { continue };
        // Between these two, both sides are done at the same time.
        for on_cpu in even.saturating_sub(1)..=even + 2 {
            let strategy = with_share(strategy, chunks, on_cpu);
            if found.plans.iter().any(|plan| plan.strategy == Some(strategy)) {
                continue;
            }
            let program = build(workload, strategy);
            found.plans.extend(program.map(|program| Plan { strategy: Some(strategy), program }));
        }
    }
}

fn with_share(strategy: Strategy, chunks: u64, on_cpu: u64) -> Strategy {
    Strategy { family: Hybrid { chunks, on_cpu }.into(), ..strategy }
}

/// The most chunks that the CPU computes before the GPU is done with the others. `None` if that
/// cannot be predicted.
fn even_share(
    workload: &Workload,
    profile: &Profile,
    (chunks, strategy): (u64, Strategy),
) -> Option<u64> {
    let between = |low: u64, high: u64| (high - low > 1).then(|| low.midpoint(high));
    let is_first = |on_cpu: u64| {
        let program = build(workload, with_share(strategy, chunks, on_cpu)).ok()?;
        cpu_is_first(&program, profile)
    };
    Some(halved((0, chunks * workload.batches), between, is_first)?.0)
}

/// Whether the host begins to wait for the GPU before that is done.
fn cpu_is_first(program: &Program, profile: &Profile) -> Option<bool> {
    let timeline = simulate(program, profile).ok()?;
    let waits = program.body.iter().position(|call| call.only_waits())?;
    let mut host = timeline.lane(Lane::Host);
    let cpu = host.find(|activity| activity.call == waits)?.start;
    let gpu = timeline.activities.iter().filter(|one| one.lane != Lane::Host);
    Some(cpu < gpu.map(|one| one.end).max().unwrap_or(Instant::START))
}

/// The plans for a machine: those of [`candidates_over`], shares of the CPU that fit it, better
/// ones near the best, and tasks scheduled by its prices.
pub fn candidates_for(workload: &Workload, profile: &Profile) -> Candidates {
    let of_families = || {
        let mut found = candidates_over(workload, &profile.gpu_counts());
        add_shares(&mut found, workload, profile);
        refine(workload, profile, &mut found);
        found
    };
    let by_task = || schedules(workload, profile, How::Thoroughly);
    let (mut found, scheduled) = rayon::join(of_families, by_task);
    add_schedules(&mut found, scheduled);
    found
}
