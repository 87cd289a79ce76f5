//! The candidates in order of their predicted time, and what that says.

use super::borrowed::{BorrowedCost, borrowed};
use super::candidates::{Candidates, Plan, Refused, Simplicity};
use crate::cost::{
    Bottleneck, CompileError, FirstUse, Pinning, Taken, first_use, pinning, setup_time, taken,
    unpinned,
};
use crate::machine::HostMemory;
use crate::profile::{Known, Profile, Unknown};
use crate::program::{Process, Program};
use crate::simulate::{Draws, Forecast, Gains, Tally, forecast_finalists, gains, makespan};
use crate::units::Span;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// A plan with its forecast.
#[derive(Debug, Clone)]
pub struct Ranked {
    pub plan: Plan,
    pub forecast: Forecast,
    /// Unknown where the profile has no memory management: what a pass takes does not depend on it.
    pub setup: Known<Span>,
    pub first_use: FirstUse,
    /// Nothing if set-up pins nothing.
    pub pinning: Option<Pinning>,
    /// Nothing if set-up takes no memory of the host that devices see.
    pub taken: Option<Taken>,
    /// Predicted time of a pass without the pinning: of the same calls, or, of a plan that a family
    /// has made, of the fastest plan on its side that pins and takes nothing. `None` if set-up does
    /// neither, or if that cannot be predicted.
    pub unpinned: Option<Span>,
    /// The least that the body's calls take in the order that this plan has them in.
    pub bound: Span,
    /// What a pass gains if prices are halved, and so what bounds it. `None` of a plan that has
    /// lost early, unless it is the fastest of its family.
    pub gains: Option<Gains>,
}

impl Ranked {
    fn new(plan: Plan, forecast: Forecast, process: &Process, profile: &Profile) -> Self {
        let program = &plan.program;
        let other = plan.strategy.is_none().then(|| unpinned(program)).flatten();
        // Other plans take next to nothing: what a reduction leaves in parts.
        let takes = plan.strategy.is_some_and(|one| {
            one.family.traits().is_on_request || one.memory == HostMemory::WriteCombined
        });
        Self {
            setup: setup_time(program, profile),
            first_use: first_use(program, process, profile),
            pinning: pinning(program, profile),
            taken: takes.then(|| taken(program, profile)).flatten(),
            unpinned: other.and_then(|other| makespan(&other, profile).ok()),
            // The bound is of the machine without scatter, the forecast of the middle draw.
            bound: forecast.bound.min(forecast.makespan()),
            gains: None,
            plan,
            forecast,
        }
    }

    /// From how many passes on pinning, with unpinning at the end, takes less time than it saves,
    /// if it ever does.
    pub fn pinning_pays_from(&self) -> Option<u64> {
        self.pays_from(self.pinning.as_ref()?.costs()?)
    }

    /// From how many passes on memory that set-up takes, and pins, costs less time than it saves,
    /// if it ever does. Giving it back at the end is part of the cost.
    pub fn taking_pays_from(&self) -> Option<u64> {
        let pinning = self.pinning.as_ref().map_or(Some(Span::ZERO), Pinning::costs)?;
        let taken = self.taken.as_ref()?;
        self.pays_from(taken.costs_ns? + taken.gives_back_ns.unwrap_or_default() + pinning)
    }

    fn pays_from(&self, costs: Span) -> Option<u64> {
        let saved = self.unpinned?.nanos().checked_sub(self.makespan().nanos())?;
        Some(costs.nanos().checked_div(saved)? + 1)
    }

    /// What bounds a pass, if that was looked for.
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        self.gains.as_ref().map(Gains::bottleneck)
    }

    /// Predicted time of one pass over the body.
    pub fn makespan(&self) -> Span {
        self.forecast.makespan()
    }

    /// What a process pays before its first pass, if set-up is known: set-up, and of the
    /// first use of the GPU and of memory as much as is known.
    pub fn before_first_pass(&self) -> Option<Span> {
        Some(self.first_use.known + *self.setup.as_ref().ok()?)
    }

    /// What a process pays in all that goes over the body `runs` times. `None` if set-up is not
    /// known, or if that is longer than can be counted.
    pub fn program(&self, runs: u64) -> Option<Span> {
        let all = self.before_first_pass()? + self.makespan() * runs;
        (all < Span::LONGEST).then_some(all)
    }

    /// The range of that time, if each pass is as short, or as long, as its own range says.
    pub fn program_interval(&self, runs: u64) -> Option<(Span, Span)> {
        let before = self.before_first_pass()?;
        let (low, high) = self.forecast.interval();
        self.program(runs).map(|_| (before + low * runs, before + high * runs))
    }

    pub fn is_cpu(&self) -> bool {
        self.plan.is_on_cpu()
    }

    /// Whether scatter leaves open which of two programs of `runs` passes is faster.
    pub fn program_ties_with(&self, other: &Self, runs: u64) -> bool {
        let before = [self, other].map(|one| one.before_first_pass().unwrap_or_default());
        self.forecast.ties_over(&other.forecast, before, runs)
    }

    /// The share of draws in which one run is faster than the other's, or a program of `runs`.
    pub fn is_faster_in(&self, other: &Self, runs: Option<u64>) -> f64 {
        let before = |one: &Self| runs.and(one.before_first_pass()).unwrap_or_default();
        let (mine, theirs, runs) = (before(self), before(other), runs.unwrap_or(1));
        let pairs = || self.forecast.draws.iter().zip(&other.forecast.draws);
        let faster = pairs().filter(|&(&a, &b)| mine + a * runs < theirs + b * runs).count();
        faster as f64 / pairs().count().max(1) as f64
    }
}

/// A program's time that differs by less than this share decides nothing.
const CLEARLY: f64 = 0.01;

/// Whether a program takes so much less time than another one that it decides.
pub fn is_clearly_less(one: Span, other: Span) -> bool {
    one.nanos_f64() < (1.0 - CLEARLY) * other.nanos_f64()
}

/// All plans that could be predicted, fastest body first, and the others with the reason why not.
///
/// Scatter leaves open which of some plans is the fastest, and the seed of the draws decides their
/// order. So the plan to choose is not the first of them but the one that is [simplest](Simplicity)
/// among all that tie with the fastest.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    pub plans: Vec<Ranked>,
    pub refused: Vec<Refused>,
    pub unknown: Vec<(Plan, Unknown)>,
    /// The process that pays for first uses: the same for all plans.
    pub process: Process,
    /// What hangs on costs that the profile has from another machine, of the fastest plan of each
    /// side. Nothing if it has none.
    pub borrowed: Vec<BorrowedCost>,
    /// By which share copies over the link may be off beyond their ranges, because something else
    /// used it while it was measured.
    pub link_off: f64,
}

impl Ranking {
    pub fn fastest(&self) -> Option<&Ranked> {
        self.plans.first()
    }

    /// The plan to choose, of all.
    pub fn winner(&self) -> Option<&Ranked> {
        self.choice(|_| true)
    }

    /// The simplest of all plans that take at most `share` longer than the fastest.
    pub fn simplest_within(&self, share: f64) -> Option<&Ranked> {
        let most = self.fastest()?.makespan().nanos_f64() * (1.0 + share);
        simplest(self.plans.iter().filter(|one| one.makespan().nanos_f64() <= most))
    }

    /// The plan to choose on the CPU.
    pub fn best_on_cpu(&self) -> Option<&Ranked> {
        self.choice(Ranked::is_cpu)
    }

    /// The plan to choose on the GPU.
    pub fn best_on_gpu(&self) -> Option<&Ranked> {
        self.choice(|ranked| !ranked.is_cpu())
    }

    pub fn fastest_on_cpu(&self) -> Option<&Ranked> {
        self.plans.iter().find(|ranked| ranked.is_cpu())
    }

    pub fn fastest_on_gpu(&self) -> Option<&Ranked> {
        self.plans.iter().find(|ranked| !ranked.is_cpu())
    }

    /// The plan to choose for one pass, of those that `is_meant`.
    pub fn choice(&self, is_meant: impl Fn(&Ranked) -> bool) -> Option<&Ranked> {
        let fastest = self.plans.iter().find(|ranked| is_meant(ranked))?;
        let tied = |other: &&Ranked| {
            std::ptr::eq(*other, fastest) || other.forecast.ties_with(&fastest.forecast)
        };
        simplest(self.plans.iter().filter(|ranked| is_meant(ranked)).filter(tied))
    }

    /// A plan of which so many passes take longer than can be counted.
    pub fn too_long_over(&self, runs: u64) -> Option<&Ranked> {
        self.plans.iter().find(|ranked| ranked.makespan() * runs >= Span::LONGEST)
    }

    /// The plan to choose for a program of so many passes, of those that `is_meant`: the one to
    /// choose for one pass if no other takes clearly less, so that an answer names one plan, or
    /// else the simplest of those that tie with the fastest. `None` if the time of one of them is
    /// not known, for that one might win.
    pub fn choice_over(&self, runs: u64, is_meant: impl Fn(&Ranked) -> bool) -> Option<&Ranked> {
        let fastest = self.fastest_over(runs, &is_meant)?;
        let tied = |other: &&Ranked| {
            std::ptr::eq(*other, fastest) || other.program_ties_with(fastest, runs)
        };
        let is_as_good = |one: &&Ranked| {
            let all = fastest.program(runs).zip(one.program(runs));
            tied(one) || all.is_some_and(|(least, all)| !is_clearly_less(least, all))
        };
        let of_one_pass = self.choice(&is_meant).filter(is_as_good);
        of_one_pass
            .or_else(|| simplest(self.plans.iter().filter(|ranked| is_meant(ranked)).filter(tied)))
    }

    /// The plan to choose, of all, for a program of so many passes, if every set-up is known.
    pub fn winner_over(&self, runs: u64) -> Option<&Ranked> {
        self.choice_over(runs, |_| true)
    }

    /// Whether scatter leaves open which side wins a program of so many passes. `None` if a
    /// side has no plan, or one whose set-up is not known.
    pub fn sides_tie_over(&self, runs: u64) -> Option<bool> {
        let cpu = self.fastest_over(runs, &Ranked::is_cpu)?;
        let gpu = self.fastest_over(runs, &|ranked| !ranked.is_cpu())?;
        Some(gpu.program_ties_with(cpu, runs))
    }

    /// Finds what bounds the plans, but for those that had lost before they had all their draws.
    fn find_bounds(&mut self, profile: &Profile) {
        let draws = self.plans.iter().map(|ranked| ranked.forecast.draws.len()).max().unwrap_or(0);
        let mut families = BTreeSet::new();
        // Programs that a scenario spells out are of no family.
        let mut is_first =
            |plan: &Plan| plan.strategy.is_none_or(|one| families.insert(one.family.name()));
        let meant = self.plans.iter_mut().filter(|ranked| {
            let is_first = is_first(&ranked.plan);
            is_first || ranked.forecast.draws.len() >= draws
        });
        meant.collect::<Vec<_>>().into_par_iter().for_each(|ranked| {
            ranked.gains = gains(&ranked.plan.program, profile).ok();
        });
    }

    fn fastest_over(&self, runs: u64, is_meant: &impl Fn(&Ranked) -> bool) -> Option<&Ranked> {
        let plans = || self.plans.iter().filter(|ranked| is_meant(ranked));
        let known = plans().all(|ranked| ranked.program(runs).is_some());
        plans().filter(|_| known).min_by_key(|ranked| ranked.program(runs))
    }
}

fn simplest<'r>(plans: impl Iterator<Item = &'r Ranked>) -> Option<&'r Ranked> {
    plans.min_by_key(|ranked| (Simplicity::of(&ranked.plan), ranked.plan.name()))
}

impl Candidates {
    /// The number of threads that the workload allows the CPU, if the profile is of another one.
    pub(super) fn other_threads(&self, profile: &Profile) -> Option<usize> {
        self.cpu_threads.filter(|&threads| threads != profile.machine.cpu_threads)
    }
}

/// By how much longer than the fastest of its side a plan takes that has lost.
const LOST: f64 = 0.03;

/// Whether each plan is out of the race, given some draws of all of them: on its side, another
/// one is clearly faster in the middle draw, and faster in all draws.
fn have_lost(plans: &[Plan], draws: &[&[Span]]) -> Vec<bool> {
    let middle = |draws: &[Span]| {
        let mut draws = draws.to_vec();
        draws.sort_unstable();
        draws.get(draws.len() / 2).copied()
    };
    let sides = plans.iter().map(Plan::is_on_cpu);
    let all: Vec<_> = sides.zip(draws).map(|(side, draws)| (side, draws, middle(draws))).collect();
    let fastest = [false, true].map(|side| {
        let known = all.iter().filter(|(other, _, middle)| *other == side && middle.is_some());
        known.min_by_key(|(_, _, middle)| *middle)
    });
    let has_lost = |(side, mine, middle): &(bool, &&[Span], Option<Span>)| {
        let (Some(&(_, best, Some(least))), Some(middle)) = (fastest[usize::from(*side)], *middle)
        else {
            return false;
        };
        let is_later = middle.nanos_f64() > (1.0 + LOST) * least.nanos_f64();
        is_later && mine.iter().zip(*best).all(|(mine, best)| mine > best)
    };
    all.iter().map(has_lost).collect()
}

/// Sets what plans of hallway's own that pin or take memory are compared with: the fastest plan of
/// their side that does neither. The plans are sorted by their times.
fn set_unpinned(plans: &mut [Ranked]) {
    let pins_nothing =
        |one: &&Ranked| one.pinning.is_none() && one.taken.is_none() && !one.plan.program.pins();
    let fastest = [false, true].map(|on_cpu| {
        let side = plans.iter().filter(|one| one.is_cpu() == on_cpu);
        side.filter(pins_nothing).map(Ranked::makespan).next()
    });
    for ranked in plans {
        let prepares = ranked.pinning.is_some() || ranked.taken.is_some();
        if prepares && ranked.plan.strategy.is_some() {
            ranked.unpinned = fastest[usize::from(ranked.is_cpu())];
        }
    }
}

/// Predicts and ranks candidates. The same seed gives the same ranking.
pub fn rank(candidates: Candidates, profile: &Profile, draws: usize, seed: u64) -> Ranking {
    rank_counted(candidates, profile, Draws::new(draws, seed), &Tally::default())
}

/// Like [`rank`]. Counts what is simulated as [`forecast_all`](crate::simulate::forecast_all) does.
pub fn rank_counted(
    candidates: Candidates,
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Ranking {
    let other_threads = candidates.other_threads(profile);
    let keeps_tasks_on_cpu = candidates.keeps_tasks_on_cpu;
    let refused = candidates.refused.into_iter().map(Refused::from).collect();
    let mut ranking = Ranking { refused, process: candidates.process, ..Ranking::default() };
    let plans = candidates.plans;
    let programs: Vec<&Program> = plans.iter().map(|plan| &plan.program).collect();
    let lost = |draws: &[&[Span]]| have_lost(&plans, draws);
    let forecasts = forecast_finalists(&programs, profile, draws, done, lost);
    let calibrated = profile.machine.cpu_threads;
    let mut known = Vec::new();
    for (plan, forecast) in plans.into_iter().zip(forecasts) {
        let uses_cpu = keeps_tasks_on_cpu || plan.uses_cpu();
        if let (Some(threads), true) = (other_threads, uses_cpu) {
            let what = format!("CPU kernels on {threads} threads from times on {calibrated}");
            ranking.unknown.push((plan, Unknown::refused(what)));
            continue;
        }
        match forecast {
            Ok(forecast) => known.push((plan, forecast)),
            Err(CompileError::Unknown(unknown)) => ranking.unknown.push((plan, unknown)),
            Err(CompileError::DoesNotFit(error)) => {
                ranking.refused.push(Refused {
                    plan: plan.name(),
                    strategy: plan.strategy,
                    on_cpu: plan.is_on_cpu(),
                    reason: error.to_string(),
                    is_too_large: true,
                });
            }
        }
    }
    let process = &ranking.process;
    let ranked = known.into_par_iter();
    let ranked = ranked.map(|(plan, forecast)| Ranked::new(plan, forecast, process, profile));
    ranking.plans = ranked.collect();
    ranking.plans.sort_by_key(|ranked| (ranked.makespan(), ranked.plan.strategy));
    set_unpinned(&mut ranking.plans);
    ranking.find_bounds(profile);
    let chosen = [ranking.best_on_gpu(), ranking.best_on_cpu()];
    let mut chosen: Vec<&Ranked> = chosen.into_iter().flatten().collect();
    chosen.extend(ranking.plans.iter().filter(|ranked| ranked.plan.strategy.is_none()));
    let mut names = BTreeSet::new();
    let chosen = chosen.into_iter().filter(|ranked| names.insert(ranked.plan.name()));
    let chosen = chosen.map(|one| (one.plan.name(), one.makespan(), &one.plan.program));
    ranking.borrowed = borrowed(&chosen.collect::<Vec<_>>(), profile);
    ranking
}
