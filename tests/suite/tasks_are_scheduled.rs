//! Tasks scheduled one by one: what overlaps, what fits, and what is not waited for.

use super::predicted::{PROFILE, scenarios};
use super::workloads::{ON_HOST, floats, head, read, task};
use hallway::program::{Call, Program, check_hazards};
use hallway::scenario::{Limits, Workload};
use hallway::schedule::{Choice, Scheduled, schedule};
use hallway::search::{Plan, candidates_for, candidates_over};
use hallway::simulate::simulate;
use hallway::units::{Bytes, Span};

/// What [`schedule`] finds for whole batches on one GPU.
fn scheduled(workload: &Workload, budget: u64) -> Scheduled {
    schedule(
        workload,
        &PROFILE,
        &Choice { chunks: vec![1], gpus: vec![1], with_cpu: false, budget },
    )
}

fn program(workload: &Workload, budget: u64) -> Program {
    let Scheduled { plans, refused } = scheduled(workload, budget);
    plans.into_iter().next().unwrap_or_else(|| panic!("{}: {refused:?}", workload.name)).1
}

fn time(program: &Program) -> Span {
    simulate(program, &PROFILE).expect("the profile knows all of it").makespan
}

/// Independent pairs of an array that comes and one that goes, which stay whole.
fn pairs(count: usize, mebibytes: u64) -> Workload {
    let mut text = head("pairs", "");
    for index in 0..count {
        let [x, y, name] = ["x", "y", "t"].map(|kind| format!("{kind}{index}"));
        let rest = "arguments = { degree = 4096 }\nsplit = \"none\"";
        text += &floats([&x, &y], mebibytes << 18, ON_HOST);
        text += &task(&name, "polynomial", &[&x], &y, rest);
    }
    read(&text)
}

fn graphs() -> Vec<Workload> {
    let paths = scenarios(&["graphs"]);
    paths.iter().map(|path| Workload::load(path).expect("a scenario")).collect()
}

#[test]
fn independent_tasks_overlap() {
    let workload = pairs(6, 32);
    let resident = candidates_over(&workload, &[]).plans.into_iter();
    let resident = resident.map(|plan| plan.program).find(|one| one.label == "resident, pinned");
    let [together, apart] =
        [program(&workload, 0), resident.expect("it fits")].map(|one| time(&one));
    assert!(together.nanos_f64() < 0.8 * apart.nanos_f64(), "{together} against {apart}");
}

#[test]
fn what_is_larger_than_memory_goes_through_it() {
    let mut workload = pairs(6, 32);
    for mebibytes in [64, 96, 200] {
        let limit = Bytes::mib(mebibytes);
        workload.limits = Limits { device_memory: Some(limit), ..Limits::default() };
        let on_gpu = |program: &Program| program.needs_device();
        let families = candidates_over(&workload, &[]).programs();
        assert!(!families.iter().any(on_gpu), "families hold all of it at once");
        let scheduled = program(&workload, 20_000);
        assert!(scheduled.device_bytes() <= limit, "{}", scheduled.device_bytes());
    }
    workload.limits.device_memory = Some(Bytes::mib(63));
    let refused = scheduled(&workload, 0).refused;
    assert!(refused[0].is_too_large && refused[0].reason.contains("memory"), "{}", refused[0]);
}

#[test]
fn the_same_inputs_give_the_same_programs() {
    for workload in graphs().into_iter().step_by(5) {
        assert_eq!(program(&workload, 20_000), program(&workload, 20_000), "{}", workload.name);
    }
}

#[test]
fn more_search_never_makes_a_schedule_worse() {
    for workload in graphs().into_iter().step_by(4) {
        let times = [0, 5_000, 50_000].map(|budget| time(&program(&workload, budget)));
        assert!(times.is_sorted_by(|less, more| more <= less), "{}: {times:?}", workload.name);
    }
}

/// Without any one of its waits, a program would have a race: none is implied by the order of
/// streams, or by waits before it.
#[test]
fn nothing_is_waited_for_twice() {
    let mut waits = 0;
    for workload in graphs() {
        let plan = program(&workload, 2_000);
        check_hazards(&plan).expect("the whole program is right");
        for (at, call) in plan.body.iter().enumerate() {
            let orders = matches!(
                call,
                Call::Wait { .. } | Call::Synchronize { .. } | Call::SynchronizeEvent { .. }
            );
            if orders {
                let mut without = plan.clone();
                without.body.remove(at);
                let name = &workload.name;
                assert!(check_hazards(&without).is_err(), "{name}: {at} is not needed: {call:?}");
                waits += 1;
            }
        }
        let recorded = plan.body.iter().filter_map(|call| match call {
            Call::Record { event, .. } => Some(event),
            _ => None,
        });
        for event in recorded {
            let waits = |call: &Call| match call {
                Call::Wait { event: other, .. } | Call::SynchronizeEvent { event: other } => {
                    other == event
                }
                _ => false,
            };
            assert!(plan.body.iter().any(waits), "{}: nobody waits for {event:?}", workload.name);
        }
    }
    assert!(waits > 100, "{waits}");
}

/// A scheduled program is data: another machine can be asked about the same one.
#[test]
fn graphs_have_a_plan_by_task_that_can_be_kept() {
    for workload in graphs().into_iter().step_by(3) {
        let (name, found) = (&workload.name, candidates_for(&workload, &PROFILE));
        let by_task = |plan: &&Plan| plan.name().starts_with("by-task");
        let plans: Vec<&Plan> = found.plans.iter().filter(by_task).collect();
        assert!(!plans.is_empty(), "{name}: {:?}", found.refused);
        for plan in &plans {
            let text = workload.spelled_out(&plan.program);
            let read =
                Workload::from_toml("s.toml", &text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(time(&read.programs[0]), time(&plan.program), "{name}");
        }
        let on_gpu = found.plans.iter().filter(|plan| plan.program.needs_device());
        let best = on_gpu.map(|plan| time(&plan.program)).min().expect("there are plans");
        let mine = plans.iter().map(|plan| time(&plan.program)).min().expect("there is one");
        assert!(mine.nanos_f64() < 1.02 * best.nanos_f64(), "{name}: {mine} for {best}");
    }
}
