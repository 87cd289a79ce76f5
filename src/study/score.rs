//! Predictions beside runs.

use crate::compare::{Cell, Score, ScoredPlan};
use crate::profile::Handling;
use crate::program::{Program, Route, Sides};
use crate::runs::{Run, RunSet};
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking};
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

/// Bytes per second that a textbook takes for copies between host and device: what an x16 link of
/// PCIe 3 carries in practice, of 16 GB/s on paper.
const TEXTBOOK_LINK: f64 = 12e9;

/// The baseline of a textbook: what the kernels take, and what all copied bytes would take at the
/// bandwidth of a link. Where the CPU computes, there is no such rule: its own time counts.
fn textbook(program: &Program, timeline: &Timeline) -> Span {
    if program.computes_on_cpu() {
        return timeline.makespan;
    }
    let kernels = timeline.lane(Lane::Kernels).map(|kernel| kernel.end.since(kernel.start));
    let bytes: u64 = program
        .body
        .iter()
        .filter(|call| call.route().is_some_and(|(_, route)| route != Route::OnDevice))
        .filter_map(|call| {
            let Sides { from, rows, .. } = call.sides();
            let from = from?;
            Some(rows.map_or(from.length.get(), |rows| rows.count(from) * rows.row.get()))
        })
        .sum();
    let copies = Span::from_nanos_f64(bytes as f64 / TEXTBOOK_LINK * 1e9);
    kernels.fold(copies, |sum, kernel| sum + kernel)
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
