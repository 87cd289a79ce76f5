//! Predictions beside runs.

use crate::compare::{Cell, Score, ScoredPlan};
use crate::profile::Handling;
use crate::program::Program;
use crate::runs::{Run, RunSet};
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking};
use crate::simulate::textbook;
use crate::stats::rounded;
use crate::timeline::{Activity, Lane, Timeline, busy};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;

/// Sets predictions beside the runs of the same plans. A plan that was not run cannot be chosen.
pub fn score(workload: &Workload, ranking: &Ranking, runs: &RunSet) -> Score {
    let run_of = |ranked: &Ranked| runs.run_of(&ranked.plan.identity());
    let is_run = |ranked: &Ranked| run_of(ranked).is_some();
    let winner = ranking.choice(is_run);
    let (mut cells, mut chosen, mut identities) = (Vec::new(), None, Vec::new());
    for ranked in &ranking.plans {
        let Some(run) = run_of(ranked) else { continue };
        identities.push(&run.identity);
        if winner.is_some_and(|winner| std::ptr::eq(winner, ranked)) {
            chosen = Some(cells.len());
        }
        let (low_ns, high_ns) = ranked.forecast.interval();
        let (program, timeline) = (&ranked.plan.program, &ranked.forecast.timeline);
        let (predicted, measured) = (ranked.makespan(), run.makespan());
        let scored = ScoredPlan {
            plan: run.plan.clone(),
            side: ranked.plan.side(),
            predicted_ns: predicted,
            low_ns,
            high_ns,
            measured_ns: measured,
            spread: run.spread().map(rounded),
            passes: run.passes_ns.len(),
            passes_beside: run.beside_ns.len(),
            error: rounded(predicted.nanos_f64() / measured.nanos_f64() - 1.0),
        };
        cells.push(Cell {
            scored,
            kind: Handling::of(program),
            textbook: textbook(program, timeline),
            one_by_one: one_by_one(program, timeline),
            busiest: busiest(program, timeline),
        });
    }
    let score = Score { scenario: workload.name.clone(), cells, chosen, rerun: None };
    let again = |cell: &Cell| {
        let at = score.cells.iter().position(|one| std::ptr::eq(one, cell))?;
        runs.reruns.iter().find(|run| &run.identity == identities[at]).map(Run::makespan)
    };
    let both = [score.predicted_winner(), score.measured_winner()].map(|cell| again(cell?));
    let rerun =
        if let [Some(chosen), Some(fastest)] = both { Some([chosen, fastest]) } else { None };
    Score { rerun, ..score }
}

/// What is done, without waiting in a synchronisation for what others do.
fn work<'t>(program: &Program, timeline: &'t Timeline) -> impl Iterator<Item = &'t Activity> {
    let is_wait = |activity: &Activity| {
        activity.lane == Lane::Host
            && program.body.get(activity.call).is_some_and(|call| call.only_waits())
    };
    timeline.activities.iter().filter(move |activity| !is_wait(activity))
}

/// The baseline without overlap: the sum of what each call takes by itself, on the host and on the
/// device.
fn one_by_one(program: &Program, timeline: &Timeline) -> Span {
    let mut calls: BTreeMap<usize, Vec<(Instant, Instant)>> = BTreeMap::new();
    for Activity { call, start, end, .. } in work(program, timeline) {
        calls.entry(*call).or_default().push((*start, *end));
    }
    calls.into_values().map(busy).fold(Span::ZERO, |sum, call| sum + call)
}

/// The baseline of perfect overlap: the time for which the busiest resource works.
fn busiest(program: &Program, timeline: &Timeline) -> Span {
    let of = |lane| {
        let here = work(program, timeline).filter(move |activity| activity.lane == lane);
        busy(here.map(|activity| (activity.start, activity.end)))
    };
    Lane::ALL.into_iter().map(of).max().unwrap_or(Span::ZERO)
}
