//! What would be, asked beside what is.

use crate::cli::Failure;
use crate::cli::profiles::{LoadedProfile, Predictor, check_runs_count};
use crate::findings::{InBrief, Turning, WhatIf};
use crate::scenario::Workload;
use crate::what_if::{Variation, Varied, turning_factor, vary};

/// Refuses what cannot be changed before anything is predicted.
pub(in crate::cli) fn check(
    workloads: &[Workload],
    found: &LoadedProfile,
    variations: &[Variation],
) -> Result<(), Failure> {
    for workload in workloads {
        for variation in variations {
            varied(workload, found, variation)?;
        }
    }
    Ok(())
}

fn varied(
    workload: &Workload,
    found: &LoadedProfile,
    variation: &Variation,
) -> Result<Varied, Failure> {
    vary(&found.profile, workload, variation).map_err(|problem| {
        Failure::input(miette::miette!("--what-if {variation}, `{}`: {problem}", workload.name))
    })
}

/// The answer if something were different.
pub(in crate::cli) fn ask(
    predictor: Predictor<'_>,
    workload: &Workload,
    runs: u64,
    variation: &Variation,
) -> Result<WhatIf, Failure> {
    let found = predictor.found;
    let Varied { profile, workload: changed, assumptions } = varied(workload, found, variation)?;
    let there = LoadedProfile { profile, path: found.path.clone() };
    let ranking = Predictor { found: &there, ..predictor }.ranking(&changed);
    check_runs_count(&changed, &ranking, runs)?;
    let unknown = ranking.unknown.first().filter(|_| ranking.plans.is_empty());
    let turn = turning_factor(&found.profile, workload, variation);
    Ok(WhatIf {
        change: variation.to_string(),
        answer: InBrief::of(&ranking, runs),
        turning: turn.map(|turn| Turning::of(turn.as_ref())),
        assumptions,
        unknown: unknown.map(|(_, unknown)| unknown.to_string()),
    })
}
