//! A scenario with tasks: the plan that people write first, as a program to advise on, and other
//! plans for the same tasks.

use super::Asked;
use crate::advise::{Remedy, Subject};
use crate::cli::profiles::LoadedProfile;
use crate::cli::progress::Progress;
use crate::cli::{Failure, Predicting};
use crate::machine::{HostMemory, Side};
use crate::scenario::{FamilyName, Workload};
use crate::search::Ranked;

/// The plan of this name, or else the simplest on one GPU.
pub(super) fn of_tasks(
    workload: Workload,
    named: Option<&str>,
    predicting: &Predicting,
    found: &LoadedProfile,
) -> Result<Asked, Failure> {
    let progress = Progress::over_stages(1);
    let ranking = predicting.predictor(found, &progress).ranking(&workload);
    let plans = &ranking.plans;
    let today = match named {
        Some(name) => plans.iter().find(|one| one.plan.name() == name),
        None => plans.iter().filter(|one| is_plain(one)).min_by_key(|one| simplicity(one)),
    };
    let Some(today) = today else {
        let what = named.map_or_else(
            || "plan on one GPU that can be predicted".to_owned(),
            |name| format!("plan `{name}` that can be predicted"),
        );
        return Err(Failure::refused(
            format!("`{}` has no {what}", workload.name),
            "`hallway evaluate --all` lists the plans, and says what is unknown",
        ));
    };
    let mut subject = Subject::spelled(today.plan.program.clone());
    for remedy in Remedy::ALL {
        let fits = |one: &&Ranked| is_of(remedy, one) && one.plan != today.plan;
        // The fastest comes first.
        if let Some(one) = plans.iter().find(fits) {
            subject.plans.insert(remedy, one.plan.program.clone());
        }
    }
    Ok(Asked {
        name: workload.name.clone(),
        workload,
        subject,
        others: Vec::new(),
        recorded: None,
        recorded_on: None,
        account: None,
    })
}

fn is_plain(one: &Ranked) -> bool {
    one.plan.side() == Side::Gpu && one.plan.program.devices() < 2
}

/// Pageable memory comes first, then copies around the work, then few calls.
fn simplicity(one: &Ranked) -> (bool, bool, usize) {
    let family = family_of(one);
    let is_first = matches!(family, Some(FamilyName::Resident | FamilyName::RoundTrip));
    let is_pageable = one.plan.host_memory() == HostMemory::Pageable;
    (!is_pageable, !is_first, one.plan.program.body.len())
}

fn family_of(one: &Ranked) -> Option<FamilyName> {
    one.plan.strategy.map(|strategy| strategy.family.name())
}

/// Whether a remedy stands for such a plan.
fn is_of(remedy: Remedy, one: &Ranked) -> bool {
    let (side, devices) = (one.plan.side(), one.plan.program.devices());
    match remedy {
        Remedy::Cpu => side == Side::Cpu,
        Remedy::Share => side == Side::Both,
        Remedy::SeveralGpus => side == Side::Gpu && devices > 1,
        Remedy::Schedule => is_plain(one) && family_of(one) == Some(FamilyName::ByTask),
        _ => false,
    }
}
