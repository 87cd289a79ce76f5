//! More CPU threads, or fewer.
//!
//! What all threads do together takes A + B/k with k of them (Amdahl's law). Two times that are
//! known, that of one thread and that of all today, give A and B: so what memory bounds gains less
//! from threads than what they compute. Where that of one thread is not known, all of the time is
//! taken to be shared.

use super::change::Varied;
use super::kernels::{for_own, scale_cost};
use crate::kernels::{CpuSide, OwnCost};
use crate::profile::{Curve, Profile};

/// Threads as they are and as they would be.
#[derive(Clone, Copy)]
struct Threads {
    now: f64,
    then: f64,
}

impl Threads {
    /// How many times as long it takes what takes `all` with all threads and `one` with one.
    fn slower(self, all: f64, one: Option<f64>) -> f64 {
        let Self { now, then } = self;
        if all <= 0.0 || now <= 1.0 {
            return if now <= 1.0 { 1.0 / then } else { 1.0 };
        }
        let one = one.unwrap_or(now * all).clamp(all, now * all);
        let shared = (one - all) / (1.0 - 1.0 / now);
        ((one - shared) + shared / then) / all
    }

    fn curve(self, by_all: &mut Curve, by_one: Option<&Curve>) {
        for (size, ns) in &mut by_all.knots {
            *ns *= self.slower(*ns, by_one.map(|curve| curve.at(*size)));
        }
    }
}

pub(super) fn scale(varied: &mut Varied, factor: f64) -> Result<(), String> {
    let now = varied.profile.machine.cpu_threads;
    if now == 0 {
        return Err("the profile lacks the number of CPU threads".to_owned());
    }
    let then = (now as f64 * factor).round().max(1.0);
    let threads = Threads { now: now as f64, then: (now as f64 * factor).max(1.0) };
    twins(&mut varied.profile, threads);
    copies(&mut varied.profile, threads);
    touches(&mut varied.profile, threads);
    varied.profile.machine.cpu_threads = then as usize;
    // A scenario limited to all of today's threads gets all that there would be: a profile predicts
    // no other number.
    let limit = &mut varied.workload.limits.cpu_threads;
    *limit = limit.filter(|&limit| limit != now);
    for_own(&mut varied.workload, &|kernel| {
        if let CpuSide::Cost(cost @ (OwnCost::Points(_) | OwnCost::Stated { .. })) = &mut kernel.cpu
        {
            scale_cost(cost, threads.now / threads.then);
        }
    });
    let own = varied.workload.programs.iter().flat_map(|program| &program.kernels);
    let tasks = varied.workload.tasks.iter().filter_map(|task| task.kernel.own_work());
    let all = varied.workload.own_cpu.iter().map(|own| &own.kernel);
    let mut own = own.chain(tasks.map(|work| &work.declared.kernel)).chain(all);
    let has_command = own.any(|kernel| matches!(kernel.cpu, CpuSide::Command(_)));
    varied.assume(
        "Work on all threads follows Amdahl's law, fitted to the times on one thread and on all. \
         If threads share cores, additional ones gain less.",
    );
    if has_command {
        varied.assume("The scenario's CPU commands take as long as before.");
    }
    Ok(())
}

fn twins(profile: &mut Profile, threads: Threads) {
    let changed = profile.twins.iter().map(|model| {
        let alone = profile.by_one_thread(model);
        let knots = model.time.knots.iter().map(|&(elements, ns)| {
            if !profile.was_shared(model, elements) {
                return (elements, ns);
            }
            let alone = alone.map(|per_element| per_element * elements);
            (elements, ns * threads.slower(ns, alone))
        });
        knots.collect()
    });
    let changed: Vec<_> = changed.collect();
    for (model, knots) in profile.twins.iter_mut().zip(changed) {
        model.time.knots = knots;
    }
}

fn copies(profile: &mut Profile, threads: Threads) {
    let by_one = profile.host_copies.iter().find(|model| !model.by_all).cloned();
    for model in profile.host_copies.iter_mut().filter(|model| model.by_all) {
        threads.curve(&mut model.near, by_one.as_ref().map(|one| &one.near));
        threads.curve(&mut model.far, by_one.as_ref().map(|one| &one.far));
        let into_cache = by_one.as_ref().and_then(|one| one.into_cache.as_ref());
        model.into_cache.iter_mut().for_each(|all| threads.curve(all, into_cache));
    }
}

/// First touches, and what the CPU does to write-combined memory.
fn touches(profile: &mut Profile, threads: Threads) {
    let memory = &mut profile.memory;
    let pairs = [
        (&mut memory.first_touch_team, &memory.first_touch),
        (&mut memory.combined_read_team, &memory.combined_read),
        (&mut memory.combined_write_team, &memory.combined_write),
    ];
    for (team, one) in pairs {
        team.iter_mut().for_each(|team| threads.curve(team, one.as_ref()));
    }
}
