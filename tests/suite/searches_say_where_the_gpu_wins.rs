//! The search tries plans that overlap, however many batches there are. Where it says
//! that the GPU wins at other sizes, that agrees with the verdict.

use super::predicted::{PROFILE, scenario};
use super::workloads::{ON_DEVICE, ON_HOST, SCRATCH, SPLIT, floats, head, read, simple, task};
use hallway::families::{ByEngine, Family, RoundTrip};
use hallway::findings::{Answer, Verdict};
use hallway::kernels::Kernel;
use hallway::scenario::{FamilyName, Workload};
use hallway::search::{Setting, Wins, break_even, candidates, rank};
use hallway::units::Bytes;

#[test]
fn batches_overlap_however_many_there_are_and_however_small() {
    for (batches, elements) in [(2, 100), (128, 100_000), (129, 100_000), (1000, 100_000)] {
        let workload = simple(Kernel::Scale, elements, &format!("batches = {batches}"));
        let found = candidates(&workload).plans;
        let is_whole = |family: Family| matches!(family, Family::ByEngine(ByEngine { chunks: 1 }));
        assert!(
            found.iter().filter_map(|plan| plan.strategy).any(|one| is_whole(one.family)),
            "{batches} batches"
        );
    }
}

/// At the scenario's own size, the break-even sizes agree with the verdict, with
/// `[limits]` and without.
#[test]
fn break_even_agrees_with_the_verdict() {
    let mut told = 0;
    for name in ["stencil-halo", "three-task-graph", "stream-saxpy", "compute-polynomial"] {
        let unlimited = scenario(name);
        for pinned in [None, Some(Bytes::mib(16))] {
            let mut workload = unlimited.clone();
            workload.limits.pinned_memory = pinned;
            let sizes = break_even(&workload, &PROFILE).expect("known").gpu_wins;
            let here = workload.buffers.iter().map(|b| b.elements).max().expect("some");
            let gpu_wins = includes(&sizes, here);
            let verdict = Verdict::of(&rank(candidates(&workload), &PROFILE, 20, 1), 1);
            let answer = match verdict.run_answer {
                Answer::Gpu | Answer::Both => true,
                Answer::Cpu => false,
                Answer::Plan | Answer::Tie | Answer::NothingToCompare => continue,
            };
            assert_eq!(gpu_wins, answer, "{name}: {sizes:?}, {verdict:?}");
            told += 1;
        }
    }
    assert!(told >= 6, "{told} verdicts");
}

/// Break-even also agrees with the verdict where times jump. From some 75,000 elements
/// on, and again at a million, the CPU takes less time for more elements, and the winner
/// changes more often than at every power of two.
#[test]
fn break_even_agrees_with_the_verdict_where_times_jump() {
    let mut sides = [0; 2];
    for elements in [70_000, 74_000, 80_000, 1_100_000, 1_200_000, 1_400_000] {
        let workload = pipeline(elements);
        let verdict = Verdict::of(&rank(candidates(&workload), &PROFILE, 20, 1), 1);
        let sizes = break_even(&workload, &PROFILE).expect("known").gpu_wins;
        let gpu_wins = includes(&sizes, elements);
        if matches!(verdict.run_answer, Answer::Gpu | Answer::Cpu) {
            let said = verdict.run_answer == Answer::Gpu;
            assert_eq!(gpu_wins, said, "{elements}: {sizes:?}, {verdict:?}");
            sides[usize::from(said)] += 1;
        }
    }
    assert!(sides.iter().all(|&times| times > 0), "{sides:?}");
}

fn includes(sizes: &[Wins], elements: u64) -> bool {
    let here = Setting(elements as f64);
    let includes = |wins: &Wins| {
        wins.from.is_none_or(|from| from <= here) && wins.until.is_none_or(|until| here < until)
    };
    sizes.iter().any(includes)
}

/// Three kernels in a row.
fn pipeline(elements: u64) -> Workload {
    let buffers = floats(["a", "d"], elements, ON_HOST) + &floats(["b", "c"], elements, SCRATCH);
    let tasks = [("scale", "a", "b"), ("polynomial", "b", "c"), ("scale", "c", "d")]
        .map(|(kernel, from, to)| task(to, kernel, &[from], to, SPLIT));
    read(&(head("pipeline", "") + &buffers + &tasks.concat()))
}

#[test]
fn what_stays_on_the_device_is_called_resident() {
    let text =
        floats(["x"], 1_000_000, ON_DEVICE) + &task("t", "scale", &["x"], "x", "iterations = 9");
    let plans = candidates(&read(&(head("w", "") + &text))).plans;
    let names: Vec<_> =
        plans.iter().filter_map(|plan| plan.strategy).map(|one| one.family.name()).collect();
    assert!(
        names.contains(&FamilyName::Resident) && !names.contains(&FamilyName::RoundTrip),
        "{names:?}"
    );
    let plans = candidates(&simple(Kernel::Scale, 100_000, "")).plans;
    assert!(plans.iter().any(|plan| {
        plan.strategy.is_some_and(|one| one.family == Family::RoundTrip(RoundTrip))
    }));
}

/// A family that the scenario asks for but that has no plan is named, with what would
/// give one.
#[test]
fn families_without_a_sensible_number_of_chunks_are_refused_by_name() {
    let workload = simple(Kernel::Scale, 16, "[plans]\nfamilies = [\"by-engine\", \"cpu\"]");
    let found = candidates(&workload);
    assert_eq!(found.plans.len(), 1);
    let [refusal] = &found.refused[..] else { panic!("{:?}", found.refused) };
    assert_eq!(refusal.strategy.family.name(), FamilyName::ByEngine);
    assert!(refusal.reason.contains("fewer than 4096 elements") && !refusal.is_too_large);
    // Two chunks need no ring of two buffers, however large they are.
    let more = "[plans]\nfamilies = [\"buffered\"]\nchunks = [2]";
    let found = candidates(&simple(Kernel::Scale, 1 << 20, more));
    let [refusal] = &found.refused[..] else { panic!("{:?}", found.refused) };
    assert!(
        refusal.reason.contains("there would be too few chunks to overlap, or chunks of fewer"),
        "{}",
        refusal.reason
    );
    let more = "[plans]\nfamilies = [\"by-engine\", \"cpu\"]\nchunks = [2]";
    assert!(candidates(&simple(Kernel::Scale, 16, more)).refused.is_empty());
}

/// A side without a plan, or whose time is not known, has not lost.
#[test]
fn break_even_says_nothing_where_one_side_is_missing() {
    let plans = "[plans]\nfamilies = [\"cpu\", \"by-engine\"]\nchunks = [4]";
    let mut whole = simple(Kernel::Scale, 100_000, plans);
    whole.tasks[0].splittable = false;
    let mut fewer_threads = simple(Kernel::Scale, 100_000, "");
    fewer_threads.limits.cpu_threads = Some(4);
    for workload in [whole, fewer_threads] {
        let verdict = Verdict::of(&rank(candidates(&workload), &PROFILE, 20, 1), 1);
        assert!(verdict.run.is_none_or(|run| !run.is_between_sides()));
        assert_eq!(break_even(&workload, &PROFILE), None);
    }
}

/// Only plans with too many calls to simulate are left out, and each is named.
#[test]
fn only_plans_with_too_many_calls_are_left_out() {
    let mut workload = simple(Kernel::Stencil, 1_000_000, "");
    workload.tasks[0].iterations = 1_000;
    workload.plans.families = vec![FamilyName::ByEngine];
    let found = candidates(&workload);
    let name = |chunks: u64| format!("by-engine {chunks}, pinned");
    let plans: Vec<String> = found.plans.iter().map(|plan| plan.name()).collect();
    assert_eq!(plans, [2, 4, 8, 16].map(name));
    let refused: Vec<String> = found.refused.iter().map(ToString::to_string).collect();
    let said = "calls exceed the limit of 16384: use fewer chunks";
    let too_long = [(32, 32_096), (64, 64_192)];
    assert_eq!(
        refused,
        too_long.map(|(chunks, calls)| format!("{}: {calls} {said}", name(chunks)))
    );
}
