//! A plan that takes more memory than there is gets refused in the same words by whoever
//! would build, predict or run it: with both figures, and with what to do about it.

use super::machines::machine;
use super::said;
use super::workloads::{ON_HOST, floats, head, read, simple, task};
use hallway::cost::CompileError;
use hallway::execute::{Effort, ExecuteError, Executor};
use hallway::families::{Family, Resident, Strategy, build};
use hallway::findings::Assessment;
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::machine::HostMemory;
use hallway::program::{Place, Program};
use hallway::scenario::{FamilyName, Workload};
use hallway::search::{BreakEven, candidates, rank, shortages};
use hallway::simulate::{forecast, lower_bound, simulate};
use hallway::units::{Bytes, Span};

const PINNED: Place = Place::Host(HostMemory::Pinned);
const DEVICE: Place = Place::FIRST_DEVICE;

/// Two buffers of 4 KiB on the host, and two on the device.
fn workload() -> Workload {
    simple(Kernel::Scale, 1024, "")
}

fn resident(workload: &Workload) -> Result<Program, String> {
    let (family, memory) = (Family::Resident(Resident), HostMemory::Pinned);
    let strategy = Strategy::plain(family, memory);
    build(workload, strategy).map_err(|refusal| refusal.to_string())
}

fn saxpy(more: &str, buffers: &str, output: &str, rest: &str) -> String {
    head("saxpy", more) + buffers + &task("t", "saxpy", &["x", "y"], output, rest)
}

#[test]
fn copies_each_way_have_a_footprint_of_their_own() {
    let footprints = |buffers: &str, output: &str| {
        let workload = read(&saxpy("", buffers, output, ""));
        let plan = resident(&workload).expect("no limits");
        let found = plan.host_footprint();
        [found.copied_out, found.copied_both_ways, found.all]
    };
    let three = floats(["x", "y", "z"], 1 << 20, ON_HOST);
    assert_eq!(footprints(&three, "z"), [4, 12, 12].map(Bytes::mib));
    // A buffer that is both read and written counts once.
    assert_eq!(footprints(&floats(["x", "y"], 1 << 20, ON_HOST), "y"), [4, 8, 8].map(Bytes::mib));
}

#[test]
fn limits_of_a_scenario_say_what_to_raise() {
    let mut workload = workload();
    let just = Some(Bytes::kib(8));
    (workload.limits.device_memory, workload.limits.pinned_memory) = (just, just);
    resident(&workload).expect("just fits");
    workload.limits.device_memory = Some(Bytes::kib(6));
    let text = resident(&workload).expect_err("8 KiB");
    assert_eq!(
        text,
        "resident, pinned: needs 8 KiB of device memory, but can use only 6 KiB: raise \
         `device_memory` in [limits] or use smaller buffers"
    );
    (workload.limits.device_memory, workload.limits.pinned_memory) = (None, Some(Bytes::kib(6)));
    let text = resident(&workload).expect_err("8 KiB");
    assert!(text.ends_with("raise `pinned_memory` in [limits] or use smaller buffers"));
    // A refusal advises nothing that the plan does already or that the scenario rules
    // out.
    for refusal in candidates(&workload).refused {
        assert!(!refusal.reason.contains("take a plan"), "{refusal}");
    }
}

#[test]
fn a_plan_larger_than_the_machine_is_predicted_by_nobody() {
    let plan = resident(&workload()).expect("no limits");
    let just = Bytes::kib(8);
    let mut machine = machine();
    (machine.machine.device_memory_bytes, machine.machine.host_memory_bytes) = (just, Some(just));
    simulate(&plan, &machine).expect("just fits");
    machine.machine.host_memory_bytes = None;
    simulate(&plan, &machine).expect("what the host has is not known");

    for (place, whole, expected) in [
        (DEVICE, "device", "needs 8 KiB of device memory, but can use only 4 KiB, all that the"),
        (PINNED, "host", "needs 8 KiB of pinned memory, but can use only 4 KiB, all that the"),
    ] {
        assert_eq!(plan.bytes_in(place), just);
        let mut small = machine.clone();
        match place {
            Place::Device(_) => small.machine.device_memory_bytes = Bytes::kib(4),
            Place::Host(_) => small.machine.host_memory_bytes = Some(Bytes::kib(4)),
        }
        let expected = format!("{expected} {whole} has: ");
        let errors = [
            simulate(&plan, &small).map(|_| ()),
            forecast(&plan, &small, 2, 1).map(|_| ()),
            lower_bound(&plan, &small).map(|_| ()),
        ];
        for error in errors.map(|found| found.expect_err("it does not fit")) {
            assert!(matches!(error, CompileError::DoesNotFit(_)), "{error}");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        // The search refuses this plan and ranks the others.
        let ranking = rank(candidates(&workload()), &small, 2, 1);
        let refused = ranking.refused.iter().find(|one| one.plan == plan.label);
        let refused = refused.expect("the refusal gives the reason");
        assert!(refused.reason.starts_with(&expected), "{refused:?}");
        // The CPU does not fit, either, into less host memory than its data takes.
        let on_cpu = ranking.refused.iter().find(|one| one.on_cpu);
        let on_cpu = on_cpu.map(|one| one.reason.split(',').next().expect("a beginning"));
        let host_is_small = matches!(place, Place::Host(_));
        assert_eq!(on_cpu, host_is_small.then_some("needs 8 KiB of host memory"));
        assert!(ranking.best_on_cpu().is_some() != host_is_small && ranking.unknown.is_empty());
        assert!(ranking.plans.iter().all(|ranked| ranked.plan.name() != plan.label));
    }
}

/// Even without a GPU it is clear that no machine can pin that much.
#[test]
fn a_plan_larger_than_the_machine_is_not_begun() {
    let workload = workload();
    let mut plan = resident(&workload).expect("no limits");
    let team = Team::new(1).expect("one thread");
    let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
    let pinned = plan.allocations.iter_mut().find(|one| one.place == PINNED).expect("some");
    pinned.bytes = Bytes::mib(1 << 40);
    let error = executor.run(&plan, Effort::SHORT).expect_err("an exbibyte");
    let text = error.to_string();
    assert!(matches!(error, ExecuteError::DoesNotFit { .. }), "{text}");
    assert!(text.starts_with("`resident, pinned` needs "), "{text}");
    assert!(text.contains(" of pinned memory, but can use only "), "{text}");
    assert!(text.contains("all that is free on the host: use smaller buffers"), "{text}");
}

/// A plan whose steps are shared out uses all cores, so its passes are never set apart.
/// Passes of a single thread are, if something else used its core.
#[test]
fn plans_that_are_set_up_together_are_each_run() {
    for (elements, is_shared) in [(1024, false), (1 << 20, true)] {
        each_is_run(&simple(Kernel::Scale, elements, ""), is_shared);
    }
}

fn each_is_run(workload: &Workload, is_shared: bool) {
    let plan = candidates(workload).programs().into_iter().find(|plan| !plan.needs_device());
    let plan = plan.expect("there is a plan for the CPU");
    let team = Team::new(2).expect("two threads");
    let executor: Executor<'_> = Executor::new(None, &team, workload, 1);
    let plans = [plan.clone(), plan];
    let mut set_up = executor.set_up(&plans, Effort::SHORT).expect("there is room");
    for _ in 0..Effort::SHORT.turns {
        assert!(set_up.turn().expect("they run"));
    }
    assert!(!set_up.turn().expect("nothing left"));
    let runs = set_up.finish().expect("right results");
    assert_eq!(runs.len(), plans.len());
    for (run, plan) in runs.iter().zip(&plans) {
        assert_eq!(run.identity, plan.identity());
        // One to three passes in each turn, and half as many where a plan has several
        // turns at once.
        let turns = Effort::SHORT.turns;
        let (alone, beside) = (run.passes_ns.len(), run.beside_ns.len());
        assert!(alone + beside >= turns / 2, "{alone} and {beside}");
        assert!(!is_shared || beside == 0, "{alone} and {beside}");
        assert!(run.makespan() > Span::ZERO && run.setups_ns.len() == 1);
    }
    let none = executor.set_up(&[], Effort::SHORT).expect("nothing to do");
    assert!(none.finish().expect("nothing done").is_empty());
}

/// Data that is updated in place must start from its first contents in the pass that is
/// checked last.
#[test]
fn what_is_updated_in_place_begins_anew_for_the_last_check() {
    let buffers = floats(["x", "y"], 10_007, ON_HOST);
    let workload = read(&saxpy("batches = 2", &buffers, "y", "iterations = 2"));
    let plan = candidates(&workload).programs().into_iter().find(|plan| !plan.needs_device());
    let team = Team::new(2).expect("two threads");
    let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
    let run = executor
        .run(&plan.expect("there is a plan for the CPU"), Effort::SHORT)
        .expect("right results");
    assert!(run.passes_ns.len() > 1 && run.worst_error < 1e-6, "{}", run.worst_error);
}

/// Instead of an empty table, the report says which memory is short, by how much, and
/// what to do.
#[test]
fn a_side_none_of_whose_plans_fit_is_told_what_it_lacks() {
    let mut workload = workload();
    let assess = |workload: &Workload, host: Bytes| {
        let mut machine = machine();
        machine.machine.host_memory_bytes = Some(host);
        let ranking = rank(candidates(workload), &machine, 2, 1);
        let short_of = shortages(workload, &ranking, &machine);
        let nowhere = BreakEven {
            gpu_wins: Vec::new(),
            tried: [1, 2],
            coarse: false,
            too_large_for_gpu: None,
            too_large_for_cpu: None,
        };
        Assessment::new(workload, 1, &ranking, Some(nowhere)).short_of(&short_of)
    };
    assert_eq!(assess(&workload, Bytes::kib(64)).no_room, []);
    workload.limits.device_memory = Some(Bytes::kib(1));
    let found = assess(&workload, Bytes::kib(64));
    let [gpu] = found.no_room.as_slice() else { panic!("the CPU has room: {found:?}") };
    assert!(!gpu.on_cpu && gpu.memory == "device" && gpu.has_bytes == Bytes::kib(1), "{gpu:?}");
    assert!(gpu.needs_bytes > gpu.has_bytes && gpu.needs_bytes <= Bytes::kib(8), "{gpu:?}");
    let text = said::text(&found, &machine());
    let line = said::the(&text, "No room");
    let start =
        format!("no plan on the GPU fits in memory; `{}` comes closest: it needs ", gpu.plan);
    assert!(line.starts_with(&start), "{line}");
    assert!(line.contains(" of device memory, but can use only 1 KiB: "), "{line}");
    assert!(line.ends_with("raise `device_memory` in [limits] or use smaller buffers"));
    // It also says what would fit if the scenario allowed it.
    workload.plans.families = vec![FamilyName::Cpu, FamilyName::Resident];
    let way_out = |workload: &Workload| {
        let found = assess(workload, Bytes::kib(64));
        let text = said::text(&found, &machine());
        let line = said::the(&text, "No room").to_owned();
        assert!(line.ends_with(&found.no_room[0].reason), "{line}");
        line
    };
    let line = way_out(&workload);
    assert!(line.ends_with("; or add `buffered` to `families` in [plans]"), "{line}");
    workload.tasks[0].splittable = false;
    let line = way_out(&workload);
    let name = &workload.tasks[0].name;
    let end = format!("; or remove `split = \"none\"` from task `{name}`");
    assert!(line.ends_with(&end), "{line}");
    // If neither side fits, it says what each of them lacks.
    let both = assess(&workload, Bytes::kib(4));
    assert_eq!(both.no_room.iter().map(|one| one.on_cpu).collect::<Vec<_>>(), [true, false]);
    let text = said::text(&both, &machine());
    let lines = said::labelled(&text, "No room");
    let cpu =
        "no plan on the CPU fits in memory; `cpu` comes closest: it needs 8 KiB of host memory";
    assert!(lines.len() == 2 && lines[0].starts_with(cpu), "{lines:?}");
    let says_who_wins = |assessment: &Assessment| {
        !said::labelled(&said::text(assessment, &machine()), "Break-even").is_empty()
    };
    assert!(says_who_wins(&found) && !says_who_wins(&both));
}
