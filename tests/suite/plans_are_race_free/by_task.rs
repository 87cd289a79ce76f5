//! Scheduled programs: whatever the order, the processors and the memory, calls that touch the same
//! bytes are ordered, and the results are those of the CPU.

use super::super::predicted::PROFILE;
use super::super::workloads::{
    ON_HOST, SCRATCH, SPLIT, any_workload, committed, floats, head, read, task,
};
use super::Case;
use super::over_several_gpus::check_contexts;
use hallway::program::{Program, check_hazards};
use hallway::schedule::random_schedule;
use proptest::prelude::*;

fn check(case: &Case, plan: &Program) -> Result<(), String> {
    check_hazards(plan).map_err(|hazard| format!("{hazard}\n{plan:#?}"))?;
    check_contexts(plan)?;
    (0..2).try_for_each(|seed| case.runs(plan, seed))
}

/// How many of some random schedules are right; the others cut what cannot be cut, or have too
/// little memory.
fn right(case: &Case, seeds: std::ops::Range<u64>) -> Result<usize, String> {
    let mut found = 0;
    for seed in seeds {
        for divided in [(1, 1), (1, 2), (3, 1), (3, 2), (7, 3)] {
            if let Ok(plan) = random_schedule(&case.workload, &PROFILE, divided, seed) {
                check(case, &plan).map_err(|e| format!("{divided:?}, seed {seed}: {e}"))?;
                found += 1;
            }
        }
    }
    Ok(found)
}

#[test]
fn random_schedules_of_every_scenario_are_right() {
    for workload in committed(1009) {
        let case = Case::new(workload);
        let found = right(&case, 0..12).unwrap_or_else(|e| panic!("{}: {e}", case.workload.name));
        assert!(found >= 6, "only {found} of {}", case.workload.name);
    }
}

/// Maps that can be cut, between tasks that stay whole: what chunks write is read whole, and what
/// is read in chunks was written whole. A reduction of chunks is read on.
#[test]
fn graphs_are_right_of_which_parts_are_cut() {
    let task = |kernel: &str, reads: &[&str], writes: &str, more: &str| {
        task(&format!("{kernel} to {writes}"), kernel, reads, writes, more)
    };
    for (home, halo) in [(SCRATCH, "scale"), (ON_HOST, "scale"), (ON_HOST, "stencil")] {
        let text = [
            head("parts", "batches = 2"),
            floats(["x", "d", "f"], 1200, ON_HOST),
            floats(["a"], 1200, SCRATCH),
            floats(["b", "c"], 1200, home),
            floats(["total"], 1, SCRATCH),
            floats(["e", "part"], 1, ON_HOST),
            task("scale", &["x"], "a", SPLIT),
            task(halo, &["a"], "b", &format!("iterations = 2\n{SPLIT}")),
            task("transpose", &["b"], "c", "arguments = { columns = 40 }"),
            task("saxpy", &["c", "b"], "d", SPLIT),
            task("sum", &["d"], "total", SPLIT),
            task("scale", &["total"], "e", ""),
            task("polynomial", &["c"], "f", SPLIT),
            task("sum", &["x"], "part", SPLIT),
        ];
        let case = Case::new(read(&text.concat()));
        let found = right(&case, 0..20).unwrap_or_else(|e| panic!("{home}, {halo}: {e}"));
        assert!(found >= 20, "only {found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_schedules_of_any_workload_are_right(
        workload in any_workload(), seed in 0..u64::MAX / 2,
    ) {
        let case = Case::new(workload);
        right(&case, seed..seed + 4).map_err(TestCaseError::fail)?;
    }
}
