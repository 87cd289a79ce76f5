//! Scheduled programs: whatever the order, the processors and the memory, calls that touch the same
//! bytes are ordered, and the results are those of the CPU.

use super::super::predicted::PROFILE;
use super::super::workloads::{any_workload, committed, read};
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
    let buffer = |name, elements, home| {
        crate::workloads::buffer(name, "f32", elements, &format!("home = \"{home}\""))
    };
    let task = |name: &str, reads: &str, writes: &str, more: &str| {
        format!(
            "[[task]]\nname = \"{name} to {writes}\"\nkernel = \"{name}\"\n\
             reads = [{reads}]\nwrites = [\"{writes}\"]\n{more}\n"
        )
    };
    const CUT: &str = "split = { along = \"elements\" }";
    for (home, halo) in [("scratch", "scale"), ("host", "scale"), ("host", "stencil")] {
        let text = [
            "schema_version = 1\nname = \"parts\"\nquestion = \"?\"\nbatches = 2\n".to_owned(),
            buffer("x", 1200, "host"),
            buffer("a", 1200, "scratch"),
            buffer("b", 1200, home),
            buffer("c", 1200, home),
            buffer("d", 1200, "host"),
            buffer("total", 1, "scratch"),
            buffer("e", 1, "host"),
            buffer("f", 1200, "host"),
            buffer("part", 1, "host"),
            task("scale", "\"x\"", "a", CUT),
            task(halo, "\"a\"", "b", &format!("iterations = 2\n{CUT}")),
            task("transpose", "\"b\"", "c", "arguments = { columns = 40 }"),
            task("saxpy", "\"c\", \"b\"", "d", CUT),
            task("sum", "\"d\"", "total", CUT),
            task("scale", "\"total\"", "e", ""),
            task("polynomial", "\"c\"", "f", CUT),
            task("sum", "\"x\"", "part", CUT),
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
