//! What a side lacks if none of its plans fits into memory.

use super::ranking::Ranking;
use crate::families::{Family, Strategy, build};
use crate::machine::Capacities;
use crate::profile::Profile;
use crate::program::{DoesNotFit, Whose, check_fits};
use crate::scenario::{FamilyName, Limits, Workload};

/// That no plan of a side fits: the plan that comes nearest, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    pub strategy: Strategy,
    pub lacks: DoesNotFit,
    /// What to change in the scenario so that plans need less memory.
    pub way_out: Option<String>,
}

/// The shortages of the CPU and of the GPU, if a side has no plan because none fits.
pub fn shortages(workload: &Workload, ranking: &Ranking, profile: &Profile) -> Vec<Shortage> {
    let of_side = |on_cpu: bool| {
        let others = ranking.plans.iter().map(|ranked| &ranked.plan);
        let mut others = others.chain(ranking.unknown.iter().map(|(plan, _)| plan));
        if others.any(|plan| plan.is_on_cpu() == on_cpu) {
            return None;
        }
        let too_large = ranking.refused.iter().filter(|refusal| refusal.is_too_large);
        let strategies = too_large.filter_map(|refusal| refusal.strategy);
        let strategies = strategies.filter(|strategy| strategy.is_on_cpu() == on_cpu);
        let lacking = strategies.filter_map(|one| Some((one, lack(workload, one, profile)?)));
        let share = |lacks: &DoesNotFit| lacks.needs.get() as f64 / lacks.has.get().max(1) as f64;
        lacking.min_by(|(_, one), (_, other)| share(one).total_cmp(&share(other)))
    };
    let found = [true, false].into_iter().filter_map(of_side);
    let shortage = |(strategy, lacks): (Strategy, DoesNotFit)| {
        let way_out = way_out(workload, &lacks);
        Shortage { strategy, lacks, way_out }
    };
    found.map(shortage).collect()
}

/// What a refused plan lacks. The refusal itself has that only in words.
fn lack(workload: &Workload, strategy: Strategy, profile: &Profile) -> Option<DoesNotFit> {
    let limits = Limits { cpu_threads: workload.limits.cpu_threads, ..Limits::default() };
    let program = build(&Workload { limits, ..workload.clone() }, strategy).ok()?;
    let of_scenario = check_fits(&program, Capacities::from(&workload.limits), Whose::Scenario);
    let of_machine = || check_fits(&program, profile.machine.capacities(), Whose::Machine);
    of_scenario.and_then(|()| of_machine()).err()
}

/// How to allow plans that need less device memory, if the scenario rules them out.
fn way_out(workload: &Workload, lacks: &DoesNotFit) -> Option<String> {
    if lacks.memory != "device" {
        return None;
    }
    if let Some(whole) = workload.tasks.iter().find(|task| !task.splittable) {
        let name = &whole.name;
        let way_out = match whole.kernel.is_cut_unasked() {
            true => format!("remove `split = \"none\"` from task `{name}`"),
            false => format!("give task `{name}` a `split`"),
        };
        return whole.kernel.can_be_cut().then_some(way_out);
    }
    let asked = &workload.plans.families;
    let saving = Family::all().into_iter().filter(|family| family.traits().saves_device_memory);
    let saving: Vec<FamilyName> = saving.map(|family| family.name()).collect();
    if asked.is_empty() || asked.iter().any(|name| saving.contains(name)) {
        return None;
    }
    let name = saving.first()?;
    Some(format!("add `{name}` to `families` in [plans]"))
}
