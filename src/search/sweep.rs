//! The answers for many values of one number, and the values at which they turn.

use super::fastest::{Fastest, rank_finalists};
use super::ranking::{Ranked, Ranking, rank_counted};
use super::refine::candidates_for;
use super::turns::{Lead, Scale, Sides, Turn, Wins, drawn_lead, lead_of, turns, wins};
use crate::families::Strategy;
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::simulate::{Draws, Tally};
use crate::units::Span;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A number of a workload that is varied.
pub struct Sweep<'a> {
    /// The workload with a value. `None` if there is none with that.
    pub workload: &'a (dyn Fn(f64) -> Option<Workload> + Sync),
    /// Ascending values to try.
    pub values: Vec<f64>,
    /// The value that the workload has: plans are searched there as thoroughly as anywhere.
    pub here: Option<f64>,
    pub scale: Scale,
    pub compared: Compared,
    pub profile: &'a Profile,
    pub draws: Draws,
    pub done: &'a Tally,
}

/// What of the two sides is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// A pass of the fastest plan, on the machine without scatter, after a quick search.
    FastestRuns,
    /// A pass of the plan to choose.
    Runs,
    /// A whole program with its set-up: if the number that is varied is that of passes.
    Programs,
}

/// A range near a turn of a quick search comes from fewer draws, if not less than the second
/// number, where these many calls are not enough; on a coarse scale, if not less than the third.
const DRAWN_FREELY: usize = 60_000;
const FEW: usize = 20;
const VERY_FEW: usize = 6;

/// What was found at one value.
#[derive(Debug, Clone)]
pub struct Swept {
    pub value: f64,
    /// The plans that may win at this value.
    pub ranking: Arc<Ranking>,
    /// Passes in a program.
    pub runs: u64,
    /// Whether a whole program is asked about.
    of_program: bool,
}

impl Swept {
    /// The plan to choose on the CPU, or on the GPU.
    pub fn best(&self, on_cpu: bool) -> Option<&Ranked> {
        let is_meant = |ranked: &Ranked| ranked.is_cpu() == on_cpu;
        if self.of_program {
            return self.ranking.choice_over(self.runs, is_meant);
        }
        self.ranking.choice(is_meant)
    }

    /// What is compared of a plan: its time, and the ends of its range.
    pub fn time(&self, plan: &Ranked) -> Option<[Span; 3]> {
        let (low, high) = plan.forecast.interval();
        let pass = [plan.makespan(), low, high];
        if !self.of_program {
            return Some(pass);
        }
        let before = plan.before_first_pass()?;
        plan.program(self.runs).map(|_| pass.map(|time| before + time * self.runs))
    }

    fn sides(&self) -> Option<[(&Ranked, Span); 2]> {
        let side = |on_cpu| {
            let best = self.best(on_cpu)?;
            Some((best, self.time(best)?[0]))
        };
        Some([side(true)?, side(false)?])
    }

    fn lead(&self) -> Lead {
        let Some([(_, cpu), (_, gpu)]) = self.sides() else { return Lead::Unknown };
        Lead::Of(lead_of([cpu, gpu]))
    }

    fn range(&self) -> Option<(f64, f64)> {
        let [(cpu, _), (gpu, _)] = self.sides()?;
        if !self.of_program {
            return Some(gpu.forecast.lead_over(&cpu.forecast, [Span::ZERO; 2], 1));
        }
        let before = [gpu.before_first_pass()?, cpu.before_first_pass()?];
        Some(gpu.forecast.lead_over(&cpu.forecast, before, self.runs))
    }
}

impl Sweep<'_> {
    /// What is found at the values whose places are in `own`, and between each of these and the
    /// next: all parts of the values together give what they give at once. Tells whenever a value
    /// is done.
    pub fn run(&self, own: Range<usize>, next: &(dyn Fn() + Sync)) -> (Vec<Swept>, Vec<Turn>) {
        let contest = Contest::new(self);
        if self.compared == Compared::Programs {
            // One ranking is of all.
            self.values.first().map(|&value| contest.at(value));
        }
        let all = self.values[own.clone()].par_iter().filter_map(|&value| {
            let swept = contest.at(value);
            next();
            swept
        });
        let all: Vec<Swept> = all.collect();
        (all, contest.turns(&self.values, own))
    }
}

/// Where the GPU wins, from the times of both sides at all values and the turns between them.
pub fn wins_of(times: &[(f64, [Span; 2])], turns: &[Turn]) -> Vec<Wins> {
    let leads: Vec<(f64, f64)> =
        times.iter().map(|&(value, sides)| (value, lead_of(sides))).collect();
    wins(&leads, turns)
}

/// The two sides at every value, as far as they were looked at.
pub(super) struct Contest<'a> {
    of: &'a Sweep<'a>,
    /// By the value's bits.
    known: Mutex<BTreeMap<u64, Option<Swept>>>,
    /// Where the fastest plans of both sides were found, by the value's bits.
    looked_at: Mutex<BTreeMap<u64, Look>>,
}

/// What a look at one value found.
struct Look {
    lead: Lead,
    /// The strategies that are not far from the best.
    near: Arc<BTreeSet<Strategy>>,
    /// The strategies of the fastest plans of both sides.
    winners: BTreeSet<Strategy>,
}

impl<'a> Contest<'a> {
    pub fn new(of: &'a Sweep<'a>) -> Self {
        Self { of, known: Mutex::default(), looked_at: Mutex::default() }
    }

    /// Notes the fastest plans at a value.
    pub fn note(&self, value: f64, found: &Fastest) {
        let near = Arc::new(found.near.clone());
        let look = Look { lead: found.lead(), near, winners: found.winners() };
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        looked_at.insert(value.to_bits(), look);
    }

    /// Something of what a look at a value found. `None` if nobody has looked there.
    fn look<T>(&self, value: f64, read: impl Fn(&Look) -> T) -> Option<T> {
        let looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        looked_at.get(&value.to_bits()).map(read)
    }

    fn at(&self, value: f64) -> Option<Swept> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&value.to_bits()) {
            return found.clone();
        }
        let found = self.predicted(value);
        known().insert(value.to_bits(), found.clone());
        found
    }

    fn predicted(&self, value: f64) -> Option<Swept> {
        let Sweep { profile, draws, done, compared, .. } = *self.of;
        let of_programs = compared == Compared::Programs;
        let workload = (self.of.workload)(value)?;
        let runs = workload.runs;
        let swept = |ranking| Swept { value, ranking, runs, of_program: of_programs };
        if !of_programs {
            let ranking = rank_finalists(&workload, profile, draws, done);
            return Some(swept(Arc::new(ranking)));
        }
        // Passes are the same, however many there are; and a plan that is slow may need no set-up.
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.values().flatten().next().map(|found| Arc::clone(&found.ranking));
        drop(known);
        let rank = || rank_counted(candidates_for(&workload, profile), profile, draws, done);
        Some(swept(before.unwrap_or_else(|| Arc::new(rank()))))
    }

    /// The strategies that may win at the values to try on both sides of this one, if it is none
    /// of those and passes are compared. Between the two, they are near the best. On a coarse
    /// scale, this also goes for all values to try but the first, the last and the workload's own.
    fn between(&self, value: f64) -> Option<BTreeSet<Strategy>> {
        let values = &self.of.values;
        if self.of.compared == Compared::Programs {
            return None;
        }
        let after = values.partition_point(|&other| other < value);
        if values.get(after) == Some(&value) && self.is_searched(after) {
            return None;
        }
        let is_searched = |place: &usize| self.is_searched(*place);
        let below = (0..after).rev().find(is_searched);
        let near = below.into_iter().chain((after..values.len()).find(is_searched));
        let near = near.map(|place| self.near(values[place]));
        Some(near.flat_map(|found| found.iter().copied().collect::<Vec<_>>()).collect())
    }

    /// Whether all strategies are tried at one of the values to try, by its place.
    fn is_searched(&self, place: usize) -> bool {
        let Sweep { values, here, scale, .. } = self.of;
        let is_here = Some(values[place]) == *here;
        !scale.is_coarse || place == 0 || place + 1 == values.len() || is_here
    }

    /// Who leads at each of the values to try.
    pub fn leads(&self) -> Vec<Lead> {
        let values = &self.of.values;
        // What is tried at the other values depends on what was fast at these.
        let searched = (0..values.len()).into_par_iter().filter(|&place| self.is_searched(place));
        searched.for_each(|place| {
            self.lead(values[place]);
        });
        values.par_iter().map(|&value| self.lead(value)).collect()
    }

    /// The strategies that may win near a value to try.
    fn near(&self, value: f64) -> Arc<BTreeSet<Strategy>> {
        if self.of.compared == Compared::Runs {
            let found = self.at(value);
            let plans = found.iter().flat_map(|found| &found.ranking.plans);
            return Arc::new(plans.filter_map(|ranked| ranked.plan.strategy).collect());
        }
        let near = || self.look(value, |look| Arc::clone(&look.near));
        near().unwrap_or_else(|| {
            self.fastest(value);
            near().unwrap_or_default()
        })
    }

    /// The fastest plans of both sides, where these are compared: after a quick search, and between
    /// two values to try.
    fn fastest(&self, value: f64) -> Option<Fastest> {
        let Sweep { workload, profile, done, compared, scale, .. } = *self.of;
        let is_quick = compared == Compared::FastestRuns;
        let near = self.between(value);
        if near.is_none() && !is_quick {
            return None;
        }
        let workload = workload(value)?;
        let all = || Fastest::of(&workload, profile, done);
        let found = near.map_or_else(all, |near| {
            let found = Fastest::of_strategies(&workload, (&near, is_quick), profile, done);
            // Plans that are slow elsewhere may be the only ones that fit.
            let is_sure = !scale.is_coarse || found.times().iter().all(Option::is_some);
            if is_sure { found } else { all() }
        });
        self.note(value, &found);
        Some(found)
    }

    /// The fastest plans of both sides once more. Where they are known, no others are tried.
    fn fastest_again(&self, value: f64) -> Option<Fastest> {
        let winners = self.look(value, |look| look.winners.clone());
        let Some(winners) = winners else { return self.fastest(value) };
        let Sweep { workload, profile, done, compared, .. } = *self.of;
        let is_quick = compared == Compared::FastestRuns;
        Some(Fastest::of_strategies(&workload(value)?, (&winners, is_quick), profile, done))
    }

    /// Who leads, by the predicted times.
    pub fn lead(&self, at: f64) -> Lead {
        let known = self.look(at, |look| look.lead);
        let lead = known.or_else(|| Some(self.fastest(at)?.lead()));
        lead.or_else(|| Some(self.at(at)?.lead())).unwrap_or(Lead::Unknown)
    }

    /// Between which leads the true one is, nine times out of ten. `None` if that is not known.
    fn range(&self, at: f64) -> Option<(f64, f64)> {
        let Some(fastest) = self.fastest_again(at) else { return self.at(at)?.range() };
        let Sweep { profile, draws, done, compared, scale, .. } = *self.of;
        let programs = fastest.programs()?;
        let calls: usize = programs.iter().map(|program| program.body.len()).sum();
        let count = match compared {
            Compared::FastestRuns => {
                let few = if scale.is_coarse { VERY_FEW } else { FEW };
                draws.count.min((DRAWN_FREELY / calls.max(1)).max(few))
            }
            Compared::Runs | Compared::Programs => draws.count,
        };
        drawn_lead(&programs, profile, Draws { count, ..draws }, done)
    }

    /// The changes of the winner right after values whose places are in `own`.
    pub fn turns(&self, values: &[f64], own: Range<usize>) -> Vec<Turn> {
        let sides = Sides { lead: &|at| self.lead(at), range: &|at| self.range(at) };
        turns(values, own, self.of.scale, sides)
    }
}

/// `count` values from one to another, both included, each about the same number of times as large
/// as the one before; whole ones once each.
pub fn values_between(from: f64, to: f64, count: usize, is_whole: bool) -> Vec<f64> {
    let steps = count.saturating_sub(1).max(1) as f64;
    let whole = |value: f64| if is_whole { value.round() } else { value };
    let between = |step: usize| rounded(from * (to / from).powf(step as f64 / steps));
    let mut values: Vec<f64> = (0..count)
        .map(|step| match step {
            0 => whole(from),
            _ if step + 1 == count => whole(to),
            _ => whole(between(step)).clamp(whole(from), whole(to)),
        })
        .collect();
    values.dedup();
    values
}

/// Four significant digits: a value is also said and written down.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
