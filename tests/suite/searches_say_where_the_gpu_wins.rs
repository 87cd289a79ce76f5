//! The search tries plans that overlap however many batches there are, and what it says of other
//! sizes agrees with the verdict.

use super::workloads::simple;
use hallway::kernels::Kernel;
use hallway::plan::Family;
use hallway::profile::Profile;
use hallway::report::{Answer, Verdict};
use hallway::scenario::Workload;
use hallway::search::{break_even, candidates, rank};
use hallway::units::Bytes;
use std::path::Path;

#[test]
fn batches_overlap_however_many_there_are_and_however_small() {
    for (batches, elements) in [(2, 100), (128, 100_000), (129, 100_000), (1000, 100_000)] {
        let workload = simple(Kernel::Scale, elements, &format!("batches = {batches}"));
        let found = candidates(&workload).plans;
        let is_whole = |family: Family| matches!(family, Family::ByEngine { chunks: 1 });
        assert!(found.iter().any(|plan| is_whole(plan.strategy.family)), "{batches} batches");
    }
}

/// At the scenario's own size, the sizes at which the GPU wins say what the verdict says, within
/// `[limits]` or without them.
#[test]
fn break_even_agrees_with_the_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let machine = Profile::load(&folder.join("calibration/h200/profile.toml")).expect("committed");
    let mut told = 0;
    for name in ["stencil-halo", "three-task-graph", "stream-saxpy", "compute-polynomial"] {
        let scenario = folder.join("scenarios").join(name).with_extension("toml");
        let unlimited = Workload::load(&scenario).expect("committed");
        for pinned in [None, Some(Bytes::mib(16))] {
            let mut workload = unlimited.clone();
            workload.limits.pinned_memory = pinned;
            let sizes = break_even(&workload, &machine).expect("known");
            let here = workload.buffers.iter().map(|b| b.elements).max().expect("some");
            let gpu_wins = sizes.iter().any(|sizes| {
                sizes.from.is_none_or(|from| from <= here) && sizes.until.is_none_or(|to| here < to)
            });
            let verdict = Verdict::of(&rank(candidates(&workload), &machine, 20, 1));
            let answer = match verdict.answer {
                Answer::Gpu => true,
                Answer::Cpu => false,
                Answer::Tie | Answer::NothingToCompare => continue,
            };
            assert_eq!(gpu_wins, answer, "{name}: {sizes:?}, {}", verdict.sentence);
            told += 1;
        }
    }
    assert!(told >= 6, "{told} verdicts");
}

/// What there is no plan of, or what is not known, has not lost.
#[test]
fn break_even_says_nothing_where_one_side_is_missing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let machine = Profile::load(&folder.join("calibration/h200/profile.toml")).expect("committed");
    let plans = "[plans]\nfamilies = [\"cpu\", \"by-engine\"]\nchunks = [4]";
    let mut whole = simple(Kernel::Scale, 100_000, plans);
    whole.tasks[0].splittable = false;
    let mut fewer_threads = simple(Kernel::Scale, 100_000, "");
    fewer_threads.limits.cpu_threads = Some(4);
    for workload in [whole, fewer_threads] {
        let verdict = Verdict::of(&rank(candidates(&workload), &machine, 20, 1));
        assert_eq!(verdict.answer, Answer::NothingToCompare, "{}", verdict.sentence);
        assert_eq!(break_even(&workload, &machine), None);
    }
}

/// Only what would be too long to go through is left out, and said.
#[test]
fn of_long_plans_those_of_few_chunks_are_tried() {
    let mut workload = simple(Kernel::Stencil, 1_000_000, "");
    workload.tasks[0].iterations = 1_000;
    workload.plans.families = vec!["by-engine".to_owned()];
    let found = candidates(&workload);
    let name = |chunks: u64| format!("by-engine {chunks}, pinned");
    let plans: Vec<String> = found.plans.iter().map(|plan| plan.strategy.to_string()).collect();
    assert_eq!(plans, [2, 4, 8, 16].map(name));
    let refused: Vec<String> = found.refused.iter().map(ToString::to_string).collect();
    let said = "calls are more than the 16384 that are gone through: take fewer chunks";
    let too_long = [(32, 32_096), (64, 64_192)];
    assert_eq!(
        refused,
        too_long.map(|(chunks, calls)| format!("{}: {calls} {said}", name(chunks)))
    );
}
