//! What the scheduler makes of both kinds of graphs.

use super::free_machine::free_machine;
use super::{random_graphs, standard_graphs};
use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::schedule::{Choice, schedule};
use hallway::search::task_bound;
use hallway::simulate::simulate;
use rayon::prelude::*;

/// Nanoseconds of the best schedule of a workload. The machine has no friction.
fn takes(workload: &Workload, machine: &Profile, gpus: usize) -> f64 {
    let choice = Choice { chunks: vec![1], gpus: vec![gpus], with_cpu: true, budget: 20_000 };
    let found = schedule(workload, machine, &choice);
    let takes = found
        .plans
        .iter()
        .map(|(_, program)| simulate(program, machine).expect("all is known").makespan);
    let takes = takes.min().unwrap_or_else(|| panic!("{:?}", found.refused));
    let bound = task_bound(workload, machine).expect("all is known");
    assert!(takes >= bound, "{takes} below the bound, {bound}: {}", workload.name);
    takes.nanos_f64()
}

/// How much longer than the optimum the schedule of a workload takes. What is left comes from calls
/// that are rounded up to a nanosecond.
fn gap(workload: &Workload, machine: &Profile, gpus: usize, optimum: f64) -> f64 {
    takes(workload, machine, gpus) / optimum - 1.0
}

/// The gap of a graph on GPUs that one kernel fills. A plain list is never better, but for the
/// calls that are rounded up.
fn gap_on_gpus(file: &str, gpus: usize, listed: u64, optimum: u64) -> f64 {
    let takes = takes(&standard_graphs::workload(file, None), &free_machine(gpus), gpus);
    let [listed, optimum] = [listed, optimum].map(|units| units as f64 * standard_graphs::UNIT);
    assert!(takes <= listed + 1e3, "{file} on {gpus}: {takes} above a plain list, {listed}");
    takes / optimum - 1.0
}

/// The mean is at most so much, and the worst at most 10%.
fn are_small(gaps: &[f64], most: f64) {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let worst = gaps.iter().copied().fold(0.0, f64::max);
    println!("mean {mean}, worst {worst} of {}", gaps.len());
    assert!(mean <= most && worst <= 0.1, "mean {mean}, worst {worst}");
    // No schedule beats the optimum by more than a rounding.
    assert!(gaps.iter().all(|&gap| gap > -1e-3), "{gaps:?}");
}

#[test]
fn random_graphs_are_scheduled_near_their_optimum() {
    let machine = free_machine(1);
    let cases = random_graphs::cases(40);
    let of = |case: &random_graphs::Case| gap(&case.workload, &machine, 1, case.optimum as f64);
    are_small(&cases.par_iter().map(of).collect::<Vec<_>>(), 0.01);
}

#[test]
fn standard_graphs_are_scheduled_near_their_published_optimum() {
    let of = |case: &standard_graphs::Case| {
        gap_on_gpus(&case.file, case.processors, case.listed, case.optimum)
    };
    let cases: Vec<_> = standard_graphs::cases().into_iter().step_by(3).collect();
    are_small(&cases.par_iter().map(of).collect::<Vec<_>>(), 0.002);
}

#[test]
fn standard_graphs_are_scheduled_near_their_bound_on_sixteen_gpus() {
    let of = |case: &standard_graphs::Case| {
        let [listed, least] = standard_graphs::listed(&case.file, 16);
        gap_on_gpus(&case.file, 16, listed, least)
    };
    let cases: Vec<_> = standard_graphs::cases().into_iter().step_by(9).collect();
    are_small(&cases.par_iter().map(of).collect::<Vec<_>>(), 0.003);
}

#[test]
fn kernels_that_fit_side_by_side_are_scheduled_as_on_so_many_processors() {
    let machine = free_machine(1);
    // Two blocks of 1,024 threads fit on a multiprocessor.
    let room = 2 * u64::from(machine.machine.multiprocessors);
    let of = |case: &standard_graphs::Case| {
        let blocks = room / case.processors as u64;
        let optimum = case.optimum as f64 * standard_graphs::UNIT;
        gap(&standard_graphs::workload(&case.file, Some(blocks)), &machine, 1, optimum)
    };
    let cases: Vec<_> = standard_graphs::cases().into_iter().skip(1).step_by(5).collect();
    are_small(&cases.par_iter().map(of).collect::<Vec<_>>(), 0.002);
}
