//! The CPU code of a whole scenario may be the user's own.

use super::machine;
use crate::said;
use crate::workloads::{ON_HOST, SCRATCH, floats, head, task};
use hallway::findings::Assessment;
use hallway::profile::Profile;
use hallway::scenario::{CpuCode, Workload};
use hallway::search::{Ranking, break_even, candidates, rank, scaled};
use hallway::units::Span;
use hallway::what_if::{Variation, vary};

/// Two tasks over a million elements and two batches, with this `cpu`.
fn text(cpu: &str) -> String {
    head("own-cpu", &format!("batches = 2\n{cpu}"))
        + &floats(["x", "y"], 1_000_000, ON_HOST)
        + &floats(["between"], 1_000_000, SCRATCH)
        + &task("one", "scale", &["x"], "between", "")
        + &task("two", "scale", &["between"], "y", "")
}

#[track_caller]
fn ranked(cpu: &str, machine: &Profile) -> (Workload, Ranking) {
    let workload = Workload::from_toml("w.toml", &text(cpu)).unwrap_or_else(|e| panic!("{e}"));
    let ranking = rank(candidates(&workload), machine, 20, 1);
    (workload, ranking)
}

fn on_cpu(cpu: &str, machine: &Profile) -> Span {
    let (_, ranking) = ranked(cpu, machine);
    ranking.best_on_cpu().expect("a plan on the CPU").makespan()
}

#[test]
fn every_batch_takes_the_stated_time() {
    let machine = machine();
    let fixed = on_cpu("cpu = { stated = { fixed = \"700 us\" } }\n", &machine);
    assert_eq!(fixed, Span::from_micros(1_400));
    let each = on_cpu("cpu = { stated = { per_element = \"2 ns\" } }\n", &machine);
    assert_eq!(each, Span::from_micros(4_000));
    let points = on_cpu("cpu = { points = [[1e6, \"300 us\"], [1e7, \"4 ms\"]] }\n", &machine);
    assert_eq!(points, Span::from_micros(600));
}

/// The GPU's plans are what they are without it, and the break-even moves.
#[test]
fn the_gpu_is_compared_with_it() {
    let machine = machine();
    let (own, ranking) = ranked("cpu = { stated = { per_element = \"9 ns\" } }\n", &machine);
    let (plain, other) = ranked("", &machine);
    let on_gpu = |ranking: &Ranking| {
        let plans = ranking.plans.iter().filter(|one| !one.is_cpu());
        plans.map(|one| (one.plan.name(), one.makespan())).collect::<Vec<_>>()
    };
    assert_eq!(on_gpu(&ranking), on_gpu(&other));
    let [own_size, plain_size] = [&own, &plain].map(|workload| {
        let found = break_even(workload, &machine).expect("both sides are known");
        found.gpu_wins.first().and_then(|wins| wins.from).map_or(f64::INFINITY, |from| from.0)
    });
    assert!(own_size < plain_size, "{own_size} and {plain_size}: this CPU is slower");
    for (workload, ranking, code, said) in [
        (&own, &ranking, CpuCode::Stated, "CPU      takes the times that you stated\n"),
        (&plain, &other, CpuCode::Hallway, "CPU      runs hallway's own code\n"),
    ] {
        let assessment = Assessment::new(workload, 1, ranking, None);
        assert_eq!(assessment.cpu_code, Some(code));
        let text = said::text(&assessment, &machine);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_command_is_unknown_until_it_is_timed() {
    let machine = machine();
    let (workload, ranking) =
        ranked("cpu = { command = [\"./mine\", \"{elements}\"] }\n", &machine);
    assert!(ranking.best_on_cpu().is_none());
    assert_eq!(workload.cpu_code(), Some(CpuCode::Yours));
    let unknown = ranking.unknown.iter().find(|(plan, _)| plan.name() == "cpu");
    let why = unknown.expect("the plan is named").1.to_string();
    assert!(why.contains("your CPU code"), "{why}");
}

#[test]
fn it_needs_a_cost_and_tasks() {
    let refused = |text: &str| Workload::from_toml("w.toml", text).expect_err("wrong").to_string();
    let why = refused(&text("cpu = { }\n"));
    assert!(why.contains("`cpu` of the scenario is empty"), "{why}");
    let call = "[[program]]\nname = \"p\"\ncalls = [{ work = \"1 us\" }]\n";
    let alone = head("alone", "cpu = { stated = { fixed = \"1 ms\" } }\n")
        + &floats(["x"], 1_000, ON_HOST)
        + call;
    let why = refused(&alone);
    assert!(why.contains("has `cpu` but no tasks"), "{why}");
}

/// A matrix of weights keeps its size when the others are scaled, and so it is not what the time
/// grows with.
#[test]
fn it_grows_with_what_is_scaled() {
    let cpu = "cpu = { stated = { per_element = \"1 ns\" } }\n";
    let product = |rows: u64| {
        let matrices = floats(["x", "z"], 512 * rows, ON_HOST) + &floats(["w"], 512 * 512, ON_HOST);
        head("product", cpu)
            + &matrices
            + &task("t", "matmul", &["x", "w"], "z", "arguments = { inner = 512 }")
    };
    for rows in [64, 4_096] {
        let text = product(rows);
        let workload = Workload::from_toml("w.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        let own = workload.on_own_cpu().expect("it is there");
        let work = own.tasks[0].kernel.own_work().expect("its kernel");
        assert_eq!(work.elements, Some(512 * rows));
        let smaller = scaled(&workload, 512 * 32).and_then(|one| one.on_own_cpu());
        let smaller = smaller.expect("at a smaller size");
        assert_eq!(smaller.tasks[0].kernel.own_work().and_then(|it| it.elements), Some(512 * 32));
    }
}

/// A roofline is priced by the profile's CPU; what is stated is not. Who varies the threads varies
/// it; and programs beside the tasks have no CPU code.
#[test]
fn whose_it_is_follows_its_cost() {
    let code = |cpu: &str| {
        let workload = Workload::from_toml("w.toml", &text(cpu));
        workload.unwrap_or_else(|e| panic!("{e}")).cpu_code()
    };
    let roofline = "cpu = { roofline = { flops_per_element = 2, bytes_per_element = 8 } }\n";
    assert_eq!(code(roofline), Some(CpuCode::Yours));
    assert_eq!(code("cpu = { points = [[1e6, \"1 ms\"]] }\n"), Some(CpuCode::Stated));
    assert_eq!(code(""), Some(CpuCode::Hallway));

    let stated = text("cpu = { stated = { fixed = \"900 us\" } }\n");
    let workload = Workload::from_toml("w.toml", &stated).unwrap_or_else(|e| panic!("{e}"));
    let twice: Variation = "threads=2x".parse().expect("a change");
    let varied = vary(&machine(), &workload, &twice).expect("it has threads");
    let ranking = rank(candidates(&varied.workload), &varied.profile, 20, 1);
    let found = ranking.best_on_cpu().expect("a plan on the CPU").makespan();
    assert_eq!(found, Span::from_micros(900), "two batches of half the time");

    let alone = Workload { tasks: Vec::new().into(), ..workload };
    assert_eq!(alone.cpu_code(), None);
}

/// The user's code passes nothing on in memory of hallway's.
#[test]
fn its_plan_takes_no_memory_between_tasks() {
    let machine = machine();
    let (_, ranking) = ranked("cpu = { stated = { fixed = \"700 us\" } }\n", &machine);
    let plan = &ranking.best_on_cpu().expect("a plan on the CPU").plan.program;
    assert!(plan.allocations.iter().all(|one| one.name != "between"));
}
