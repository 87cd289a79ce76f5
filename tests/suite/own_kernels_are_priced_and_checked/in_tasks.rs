//! Kernels of a scenario as tasks: all families make plans of them, at the prices that are known.

use super::super::plans_are_race_free::own_kernels::{WHOLE, pipeline};
use super::super::predicted::{PROFILE, milliseconds, ranked};
use super::super::programs_are_plain_values::read_back;
use crate::said;
use crate::workloads::{PINNED, SPLIT, buffer, head, read as workload, task};
use hallway::findings::{Answer, Assessment};
use hallway::machine::Direction;
use hallway::program::{Call, Step};
use hallway::search::{break_even, candidates};
use hallway::timeline::Lane;
use hallway::units::Span;

/// One task over ten million numbers, of a kernel with these costs.
fn one_task(costs: &str, more: &str) -> String {
    let buffers = ["x", "y"].map(|name| buffer(name, "f64", 10_000_000, PINNED));
    let kernel =
        format!("[[kernel]]\nname = \"k\"\nreads = [\"in\"]\nwrites = [\"out\"]\n{costs}\n");
    head("one", "") + &buffers.concat() + &kernel + &task("t", "k", &["x"], "y", more)
}

#[test]
fn both_sides_have_their_stated_price_and_chunks_a_part_of_it() {
    let costs = "elementwise = [\"in\", \"out\"]\n\
                 stated = { per_element = \"0.2 ns\" }\n\
                 cpu = { stated = { per_element = \"1 ns\" } }";
    let workload = workload(&one_task(costs, SPLIT));
    let ranking = ranked(&workload, &PROFILE);
    let [cpu, whole, cut] = ["cpu", "resident, pinned", "by-engine 16, pinned"]
        .map(|plan| milliseconds(&ranking, plan));
    assert!((cpu / 10.0 - 1.0).abs() < 0.01, "{cpu}");
    // 2 ms of the kernel, and 80 MB each way.
    assert!((4.5..5.5).contains(&whole), "{whole}");
    assert!(cut < 0.55 * whole, "{cut}: copies and kernels overlap");
    let sizes = break_even(&workload, &PROFILE).expect("both sides are known");
    assert!(!sizes.gpu_wins.is_empty());
}

/// A CPU that takes next to no time wins at every size; nothing is too large for the GPU.
#[test]
fn a_price_of_next_to_nothing_is_a_price() {
    let costs = "elementwise = [\"in\", \"out\"]\nstated = { per_element = \"0.2 ns\" }\n\
                 cpu = { stated = { fixed = \"0.1 ns\" } }";
    let workload = workload(&one_task(costs, SPLIT));
    let assessment = Assessment::new(&workload, 1, &ranked(&workload, &PROFILE), None);
    let run = assessment.verdict.run.as_ref().expect("both sides are known");
    assert_eq!(run.answer, Answer::Cpu);
    assert!(run.factor.is_some_and(|factor| factor.is_finite() && factor > 1.0), "{run:?}");
    let text = said::text(&assessment, &PROFILE);
    let answer = said::answer(&text);
    assert!(answer.starts_with("Stay on the CPU") && !answer.contains("inf"), "{answer}");
    let sizes = break_even(&workload, &PROFILE).expect("both sides are known");
    assert!(sizes.gpu_wins.is_empty() && sizes.too_large_for_gpu.is_none(), "{sizes:?}");
}

#[test]
fn without_a_price_of_one_side_there_is_no_verdict() {
    let workload = workload(&one_task("stated = { fixed = \"1 ms\" }", ""));
    let ranking = ranked(&workload, &PROFILE);
    assert!(ranking.plans.iter().all(|one| !one.is_cpu()));
    let lacks = ranking.unknown.iter().find(|(plan, _)| plan.name() == "cpu").expect("unknown");
    assert!(lacks.1.to_string().contains("`k`"), "{}", lacks.1);
    let deciding = hallway::search::deciding_times(&ranking, &PROFILE).remove(0);
    assert!(deciding.other_wins_above_ns.expect("it turns") > Span::from_millis(3), "{deciding:?}");
    assert_eq!(break_even(&workload, &PROFILE), None, "its rules may name sizes");
}

/// Nobody has said that the profile is to blame.
#[test]
fn a_time_at_one_size_is_of_no_piece() {
    let costs = "elementwise = [\"in\", \"out\"]\npoints = [[1e7, \"2 ms\"]]";
    let workload = workload(&one_task(costs, SPLIT));
    let ranking = ranked(&workload, &PROFILE);
    assert!(ranking.plans.iter().any(|one| one.plan.name() == "resident, pinned"), "in one piece");
    let cut = ranking.unknown.iter().find(|(plan, _)| plan.name() == "by-engine 4, pinned");
    let (_, unknown) = cut.expect("in pieces, it is not predicted");
    assert_eq!(
        unknown.to_string(),
        "kernel `k` has a time on the GPU at only one size, but its chunks have a different size: \
         add a second point to its `[[kernel]]`"
    );
}

#[test]
fn a_stated_kernel_without_a_grid_is_taken_to_fill_the_gpu() {
    let stated = "stated = { fixed = \"1 ms\" }";
    let without = workload(&one_task(stated, ""));
    assert_eq!(Vec::from_iter(without.kernels_without_grid()), ["k"]);
    let with = workload(&one_task(&format!("block = [256]\ngrid = [64]\n{stated}"), ""));
    assert!(with.kernels_without_grid().is_empty());
    let on_cpu = one_task(&format!("{stated}\ncpu = {{ {stated} }}"), "on = \"cpu\"");
    assert!(workload(&on_cpu).kernels_without_grid().is_empty(), "no GPU runs it");
    let plans = candidates(&without).programs();
    let resident = plans.iter().find(|plan| plan.label == "resident, pinned").expect("a plan");
    let spelled = workload(&without.spelled_out(resident));
    assert_eq!(Vec::from_iter(spelled.kernels_without_grid()), ["k"], "of programs, too");
}

/// A chunk of a stencil reads its neighbours' elements and computes as many more, at their price.
#[test]
fn a_halo_is_read_and_paid_for() {
    let halo = "elementwise = [\"in\", \"out\"]\nhalo = 250_000\n\
                stated = { per_element = \"0.2 ns\" }\n\
                cpu = { stated = { per_element = \"1 ns\" } }";
    let more = format!("{SPLIT}\n[plans]\nfamilies = [\"by-engine\"]\nchunks = [4]");
    let workload = workload(&one_task(halo, &more));
    assert_eq!(workload.tasks[0].halo(), 250_000);
    let plan = candidates(&workload).programs().remove(0);
    let launched: Vec<u64> = plan.own_steps().map(|(step, _)| step.elements).collect();
    assert_eq!(launched, [2_750_000, 3_000_000, 3_000_000, 2_750_000]);
    let copied = |way: Direction| {
        let ways = plan.body.iter().filter_map(Call::crossing);
        ways.filter(|(_, of, ..)| *of == way).map(|(.., to)| to.length.get()).sum::<u64>()
    };
    assert_eq!(copied(Direction::HostToDevice), 8 * launched.iter().sum::<u64>());
    assert_eq!(copied(Direction::DeviceToHost), 8 * 10_000_000, "of each its own part");
    let spelled = workload.spelled_out(&plan);
    assert!(spelled.contains("halo = 250000"), "{spelled}");
    let ranking = ranked(&workload, &PROFILE);
    let busy = ranking.plans[0].forecast.timeline.busy(Lane::Kernels).nanos_f64();
    assert!((busy / (0.2 * 11_500_000.0) - 1.0).abs() < 0.05, "{busy} ns");
}

/// What `explain` prints of a plan is a program that is the same plan.
#[test]
fn plans_are_spelled_out_and_read_back() {
    for text in [pipeline(SPLIT, ""), pipeline("", WHOLE)] {
        let workload = workload(&text);
        for program in candidates(&workload).programs() {
            let spelled = workload.spelled_out(&program);
            let read = self::workload(&spelled);
            assert_eq!(read.spelled_out(&read.programs[0]), spelled, "{}", program.label);
            assert_eq!(read.programs[0].kernels, program.kernels, "{spelled}");
            assert_eq!(read_back(&program).as_ref(), Ok(&program));
        }
    }
}

#[test]
fn a_launch_on_a_chunk_follows_the_rules_of_the_kernel() {
    let workload = workload(&pipeline(SPLIT, "[plans]\nfamilies = [\"by-engine\"]\nchunks = [3]"));
    let program = candidates(&workload).programs().remove(0);
    let mut grids = program.body.iter().filter_map(|call| match call {
        Call::Launch { step: Step::Own(step), .. } => {
            Some((step.elements, step.geometry.expect("a grid").grid))
        }
        _ => None,
    });
    assert_eq!(grids.next(), Some((320, [2, 1, 1])), "320 of 1009 elements");
    let all: u64 = program.own_steps().map(|(step, _)| step.elements).sum();
    assert_eq!(all, 2 * 2 * 1009);
}
