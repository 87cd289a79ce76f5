//! Which plan a trace is of.

use super::Failure;
use crate::report::TracedPlan;
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking};

/// The plan that was named; or, since one on the CPU is a single bar, the fastest on the GPU
/// if there is one. Among those, one whose calls were timed goes before others.
pub(super) fn traced(
    ranking: &Ranking,
    workload: &Workload,
    name: Option<&str>,
    runs: Option<&RunSet>,
) -> Result<TracedPlan, Failure> {
    let timed = |ranked: &Ranked| runs?.trace_of(&ranked.plan.identity());
    let on_gpu = || ranking.plans.iter().filter(|ranked| !ranked.is_cpu());
    let chosen = match name {
        Some(name) => {
            let found = ranking.plans.iter().find(|ranked| ranked.plan.name() == name);
            found.ok_or_else(|| {
                Failure::refused(
                    format!("`{}` has no predicted plan named `{name}`", workload.name),
                    "`hallway evaluate --all` lists all plans; put the whole name in quotes",
                )
            })?
        }
        None => {
            let found = on_gpu().find(|ranked| timed(ranked).is_some());
            let found = found.or(ranking.best_on_gpu()).or(ranking.winner());
            found.ok_or_else(|| {
                let name = &workload.name;
                let what =
                    format!("no plan of `{name}` can be predicted, so there is nothing to trace");
                Failure::refused(what, "`hallway evaluate` says why not")
            })?
        }
    };
    Ok(TracedPlan {
        scenario: workload.name.clone(),
        program: chosen.plan.program.clone(),
        predicted: chosen.forecast.timeline.clone(),
        measured: timed(chosen).map(|trace| trace.timeline.clone()),
    })
}
