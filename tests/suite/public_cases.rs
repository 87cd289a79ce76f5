//! Questions that people asked in public places, with figures that they measured. What hallway
//! predicts agrees with these: from a table of the machine that the case states, or on the profile
//! at hand where the case states none. Each file names its source. Cases from which the answer also
//! follows by what they state alone are in `tables_borrow_what_they_lack`.

use super::predicted::{PROFILE, calibrated, case, case_path, milliseconds, ranked, searched};
use hallway::cost::Bottleneck;
use hallway::findings::{Assessment, HeldBy};
use hallway::fit::fit;
use hallway::profile::Profile;
use hallway::samples::Samples;
use hallway::scenario::Workload;
use hallway::search::{Ranked, Ranking, Wins, break_even};
use hallway::units::Bytes;

pub(super) fn table(file: &str) -> Profile {
    fit(&Samples::load(&case_path(file)).expect("a table")).expect("it has rows")
}

fn answered(file: &str, profile: &Profile) -> Ranking {
    ranked(&case(file), profile)
}

/// A move costs the same whatever it carries, most of it on the host: 32 moves took 1.59 ms and one
/// 482 us.
#[test]
fn case_03_many_moves_take_three_to_four_times_as_long_as_one() {
    let ranking =
        answered("03-one-move-or-many/moves.toml", &table("03-one-move-or-many/machine.csv"));
    let [one, many] = ["1 moves", "32 moves"].map(|plan| milliseconds(&ranking, plan));
    let ratio = many / one;
    assert!((3.0..4.0).contains(&ratio), "{many} ms, {one} ms: {ratio}");
}

/// Registered and copied took 0.40 of the time of a plain copy, and staging by one thread of the
/// library's own as long as that.
#[test]
fn case_07_registering_pays_for_one_upload_and_staging_by_one_thread_does_not() {
    let profile = calibrated("others/busy-h200");
    let ranking = answered("07-register-for-one-upload/upload.toml", &profile);
    let [plainly, registered, staged] = ["plainly", "registered", "through pinned buffers"]
        .map(|plan| milliseconds(&ranking, plan));
    assert!(registered + registered <= plainly, "{registered} and {plainly}");
    assert!(staged >= plainly, "{staged} and {plainly}");
}

/// Copied at once 0.421 s, where reading in place took 0.266 s; overlapped copies are as good as
/// that. What does not fit goes through a ring, in the time that reading in place takes: 0.665 s.
#[test]
fn case_12_overlapped_copies_are_as_good_as_reading_in_place() {
    let profile = table("12-mapped-or-copied/gtx1060.csv");
    let fits = answered("12-mapped-or-copied/fits.toml", &profile);
    let near = |ranking: &Ranking, plan: &str, seconds: f64| {
        let found = milliseconds(ranking, plan) * 1e-3;
        assert!((found / seconds - 1.0).abs() < 0.05, "{plan}: {found} s, measured {seconds} s");
    };
    near(&fits, "resident, pinned", 0.421);
    near(&fits, "by-engine 64, pinned", 0.266);
    near(&fits, "zero-copy, pinned", 0.266);
    let too_large = answered("12-mapped-or-copied/does-not-fit.toml", &profile);
    near(&too_large, "buffered 64 ring 2, pinned", 0.665);
    near(&too_large, "zero-copy, pinned", 0.665);
    let labels: Vec<&str> =
        too_large.plans.iter().map(|ranked| ranked.plan.program.label.as_str()).collect();
    let needs_little =
        |label: &&str| ["buffered", "zero-copy"].iter().any(|n| label.starts_with(n));
    assert!(labels.iter().all(needs_little), "{labels:?}");
}

/// With a layer's weights sent while the layer before is computed, 48 layers took 46 s and not 85.
/// A chain of layers takes as long as so many that know nothing of each other, also if there is
/// room for two layers only.
#[test]
fn case_15_layers_stream_through_little_memory() {
    let scheduled = |workload: &Workload| {
        let ranking = searched(workload, &PROFILE);
        let is_meant = |ranked: &&Ranked| ranked.plan.name().starts_with("by-task");
        let found = ranking.plans.iter().find(is_meant).expect("it is scheduled");
        (found.makespan().nanos_f64(), found.plan.program.device_bytes())
    };
    let mut batches = case("15-layers-streamed/as-batches.toml");
    (batches.batches, batches.plans.families) = (8, Vec::new());
    let (independent, _) = scheduled(&batches);
    let mut chain = case("15-layers-streamed/chain.toml");
    assert_eq!(chain.limits.device_memory, Some(Bytes::mib(256)));
    for limit in [256, 2 * 64 + 3 * 8] {
        chain.limits.device_memory = Some(Bytes::mib(limit));
        let (time, memory) = scheduled(&chain);
        assert!((time / independent - 1.0).abs() < 0.05, "{time} ns, {independent} ns");
        assert!(memory <= Bytes::mib(limit), "{memory}");
    }
}

/// Copies by the engine leave the multiprocessors to others. A kernel that reads as much from the
/// host keeps them while it waits for the link: the model took 5.18 ms instead of 3.19.
#[test]
fn case_14_a_kernel_that_gathers_takes_processors_from_others() {
    let ranking = answered("14-gather-kernel-takes-processors/beside.toml", &PROFILE);
    let plans = ["alone", "beside copies", "beside a kernel that gathers"];
    let [alone, copies, kernel] = plans.map(|plan| milliseconds(&ranking, plan));
    // The model takes longer than the copies alone.
    assert!((3.0..5.0).contains(&alone), "{alone} ms");
    assert!(copies / alone < 1.05, "{copies} ms beside copies, {alone} ms alone");
    assert!(kernel / alone > 1.4, "{kernel} ms beside the kernel, {alone} ms alone");
}

/// Weights of 64 MiB in host memory are sent to the GPU once a batch has 32 rows. That is about
/// right over a wide slot. (It is too early over a slow one: `tables_borrow_what_they_lack`.)
#[test]
fn case_18_a_batch_pays_for_its_weights_from_some_rows_on() {
    let file = "18-batch-that-pays-for-its-weights/rows-0032.toml";
    let sizes = break_even(&case(file), &PROFILE);
    let sizes = sizes.expect("both sides are known");
    let [Wins { from: Some(from), until: None, .. }] = sizes.gpu_wins[..] else {
        panic!("{sizes:?}")
    };
    let wide = (from.0 / 4096.0) as u64;
    assert!((35..=55).contains(&wide), "from {wide} rows on");
}

/// A step takes 0.752 s, and 1.187 s with half of the optimizer on the host, or 1.216 s if its
/// copies overlap: time grows with the share, and overlap gains nothing.
#[test]
fn case_24_a_step_grows_with_the_share_of_the_host() {
    let ranking = answered("24-half-on-the-host/optimizer.toml", &PROFILE);
    let plans = ["none", "half", "half, overlapped", "all, overlapped"];
    let [none, half, overlapped, all] = plans.map(|plan| milliseconds(&ranking, plan) * 1e-3);
    for (share, step) in [(0.0, none), (0.5, overlapped), (1.0, all)] {
        let wanted = 0.752 + 0.92 * share;
        assert!((step / wanted - 1.0).abs() < 0.02, "{step} s with {share} on the host");
    }
    assert!((overlapped / half - 1.0).abs() < 0.03, "{half} s, overlapped {overlapped} s");
}

/// The call of a copy to pageable memory returns after the kernel before it, half a second later;
/// that of one to pinned memory after some microseconds. The pass takes equally long, and the
/// kernel bounds it.
#[test]
fn case_26_a_copy_to_pageable_memory_holds_the_host() {
    let assessed = |file: &str, plan: &str| {
        let workload = case(file);
        let assessment = Assessment::new(&workload, 1, &ranked(&workload, &PROFILE), None);
        let found = assessment.plans.into_iter().find(|assessed| assessed.plan == plan);
        found.unwrap_or_else(|| panic!("no `{plan}`"))
    };
    let pageable = assessed("26-async-copy-that-waits/pageable.toml", "resident, pageable");
    let pinned = assessed("26-async-copy-that-waits/pinned.toml", "resident, pinned");
    assert!(pageable.host_thread.held > 0.99, "{:?}", pageable.host_thread);
    assert_eq!(pageable.host_thread.held_by, HeldBy::WaitingCopies);
    assert!(pinned.host_thread.held < 0.01, "{:?}", pinned.host_thread);
    for plan in [&pageable, &pinned] {
        assert_eq!(plan.bottleneck, Some(Bottleneck::Kernels));
        let milliseconds = plan.predicted_ns.nanos_f64() * 1e-6;
        assert!((milliseconds / 612.0 - 1.0).abs() < 0.05, "{milliseconds} ms");
    }
}
