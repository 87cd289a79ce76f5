//! Tasks may run kernels of the user's own, on elements of any type. What they read and write is
//! where it must be, whole or cut.

use super::{Case, read, strategies};
use crate::workloads::{ON_HOST, SCRATCH, SPLIT, buffer, head, task};
use hallway::execute::Contents;
use hallway::families::build;
use hallway::program::BufferId;
use hallway::scenario::{FamilyName, TaskKernel};
use std::sync::Arc;

/// A kernel that goes along bytes and numbers, reads a table whole and writes two arrays, in front
/// of one of the library and one that stays whole.
pub fn pipeline(split: &str, more: &str) -> String {
    let first = [
        head("pipeline", "batches = 2"),
        buffer("pixels", "u8", 1009, ON_HOST),
        buffer("gains", "f64", 1009, ON_HOST),
        buffer("table", "u16", 7, ON_HOST),
        buffer("corrected", "f32", 1009, SCRATCH),
        buffer("flags", "u8", 1009, ON_HOST),
        buffer("scaled", "f32", 1009, ON_HOST),
    ];
    format!(
        "{}[[kernel]]\nname = \"correct\"\nreads = [\"in\", \"gain\", \"table\"]\n\
         writes = [\"out\", \"flags\"]\nelementwise = [\"in\", \"gain\", \"out\", \"flags\"]\n\
         block = [256]\ngrid = [\"ceil(elements / 256)\"]\n\
         stated = {{ fixed = \"5 us\", per_element = \"1 ns\" }}\n\
         cpu = {{ stated = {{ per_element = \"4 ns\" }} }}\n\
         [[task]]\nname = \"correct\"\nkernel = \"correct\"\n\
         reads = [\"pixels\", \"gains\", \"table\"]\nwrites = [\"corrected\", \"flags\"]\n\
         iterations = 2\n{split}\n{}{more}",
        first.concat(),
        task("scale", "scale", &["corrected"], "scaled", split)
    )
}

/// Adds a kernel that no plan may cut. It takes its numbers from the task.
pub const WHOLE: &str = "[[buffer]]\nname = \"digest\"\ntype = \"i64\"\nelements = 4\n\
                         home = \"host\"\n\
                         [[kernel]]\nname = \"digest\"\nreads = [\"x\"]\nwrites = [\"sums\"]\n\
                         elements = \"rows * 2\"\nstated = { fixed = \"3 us\" }\n\
                         cpu = { stated = { fixed = \"9 us\" } }\n\
                         [[task]]\nname = \"digest\"\nkernel = \"digest\"\nreads = [\"flags\"]\n\
                         writes = [\"digest\"]\narguments = { rows = 50 }\n";

#[test]
fn elementwise_kernels_are_cut_and_compute_what_the_whole_does() {
    let case = Case::new(read(&pipeline(SPLIT, "")));
    let checked = case.check(1).unwrap();
    assert!(checked >= 30, "only {checked} plans");
    let plans = case.plans();
    let launches = plans.iter().map(|plan| plan.own_steps().count());
    assert!(launches.clone().all(|count| count >= 4), "twice for each of two batches");
    let most = launches.max();
    assert_eq!(most, Some(2 * 2 * 64), "the finest cut has 64 chunks");
}

/// Elements at the ends of a chunk come out wrong, for want of neighbours, and nobody uses them.
#[test]
fn kernels_with_a_halo_are_cut_and_compute_what_the_whole_does() {
    let stencil = "elementwise = [\"in\", \"gain\", \"out\", \"flags\"]\nhalo = 3\n";
    let text = pipeline(SPLIT, "");
    let text = text.replace("elementwise = [\"in\", \"gain\", \"out\", \"flags\"]\n", stencil);
    let case = Case::new(read(&text));
    let checked = case.check(1).unwrap();
    assert!(checked >= 30, "only {checked} plans");
    // Without what lies around a chunk, its first elements would be others.
    let mut short = case.workload.clone();
    let TaskKernel::Own(work) = &mut short.tasks[0].kernel else { panic!("it is one's own") };
    let mut declared = (*work.declared).clone();
    declared.kernel.elementwise.as_mut().expect("it is").halo = 4;
    work.declared = Arc::new(declared);
    let wider = case.before.computed(&short, &case.team);
    let flags = short.tasks[0].writes[1];
    assert!(case.after.check(&short, flags, wider.of(flags)).is_err(), "it depends on its halo");
}

#[test]
fn a_kernel_that_does_not_say_that_it_can_be_cut_stays_whole() {
    let case = Case::new(read(&pipeline(SPLIT, WHOLE)));
    assert!(case.check(1).unwrap() >= 5);
    let cut =
        strategies().into_iter().filter(|one| one.family.chunks() > 1 && one.family.devices() == 1);
    for strategy in cut {
        let refusal = build(&case.workload, strategy).expect_err("one task is whole");
        let is_by_engine = strategy.family.name() == FamilyName::ByEngine;
        let said = refusal.reason.contains("`digest` has no `split`");
        assert!(said || !is_by_engine, "{refusal}");
    }
}

/// A wait that is missing is found for stand-ins, too.
#[test]
fn what_stands_in_for_a_kernel_depends_on_all_that_it_reads() {
    let case = Case::new(read(&pipeline(SPLIT, "")));
    let other = Case::new(read(&pipeline(SPLIT, "").replace("4 ns", "5 ns")));
    let is_same =
        |after: &Contents, id: BufferId| case.after.check(&case.workload, id, after.of(id)).is_ok();
    assert!(is_same(&other.after, case.workload.tasks[0].writes[1]), "a price changes nothing");
    for task in &case.workload.tasks {
        for id in task.reads.iter().filter(|&&id| case.workload.is_input(id)) {
            let mut before = case.before.clone();
            before.set(*id, case.before.of(*id).iter().map(|value| value + 1.0).collect());
            let after = before.computed(&case.workload, &case.team);
            for write in &task.writes {
                assert!(!is_same(&after, *write), "{write:?} does not depend on {id:?}");
            }
        }
    }
}
