//! For each remedy, a program in which it applies, and one in which it must not.

use super::{advised, checked, subject, workload};
use hallway::advise::{Condition, Refusal, Remedy, proved};
use hallway::program::{Awaited, Call, Place};
use hallway::scenario::Workload;
use hallway::units::Bytes;
use std::collections::BTreeSet;

pub(super) const HOST: &str = r#"
    { name = "x", type = "f32", elements = 16384, home = "host" },
    { name = "y", type = "f32", elements = 16384, home = "host" }"#;
pub(super) const PINNED: &str = r#"
    { name = "x", type = "f32", elements = 16384, home = "host", host = { memory = "pinned" } },
    { name = "y", type = "f32", elements = 16384, home = "host", host = { memory = "pinned" } }"#;
const ONE: &str = r#"
    { name = "x", type = "f32", elements = 16384, home = "host", host = { memory = "pinned" } }"#;
pub(super) const DEVICE: &str = r#"
    { name = "a", kind = "device", size = "64 KiB" },
    { name = "b", kind = "device", size = "64 KiB" }"#;

/// There, a kernel, and back, in one stream.
pub(super) const ROUND_TRIP: &str = r#"
    { copy = "x", to = "a", stream = "s" },
    { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
    { copy = "b", to = "y", stream = "s" },
    { synchronize = "s" }"#;

/// A loop over four quarters of x, each computed and sent back.
const QUARTERS: &str = r#"
    { repeat = 4, index = "i", calls = [
        { copy = "x[i * 16 KiB..+16 KiB]", to = "a[0..16 KiB]", stream = "s" },
        { launch = "scale", reads = ["a[0..16 KiB]"], writes = "b[0..16 KiB]", stream = "s" },
        { copy = "b[0..16 KiB]", to = "y[i * 16 KiB..+16 KiB]", stream = "s" },
        { synchronize = "s" },
    ] }"#;

#[track_caller]
pub(super) fn refused(workload: &Workload, remedy: Remedy) -> Refusal {
    match proved(remedy, &subject(workload)) {
        Err(refusal) => refusal,
        Ok(found) => panic!("{remedy} applies: {:#?}", found[0].program.body),
    }
}

fn waits(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.only_waits()).count()
}

#[test]
fn pageable_memory_is_pinned_and_pinned_memory_is_not() {
    let found = checked(&workload(HOST, DEVICE, "", ROUND_TRIP), Remedy::Pin);
    let both = &found[0].program;
    assert_eq!(both.pinned_bytes(), Bytes::kib(128));
    assert_eq!(both.setup.iter().filter(|call| call.pinned().is_some()).count(), 2);
    let pinned = workload(PINNED, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&pinned, Remedy::Pin), Refusal::NothingPageable);
}

#[test]
fn a_kernel_that_reads_the_hosts_memory_keeps_it_as_it_is() {
    let calls = r#"
        { launch = "scale", reads = ["x"], writes = "b", stream = "s" },
        { copy = "b", to = "x", stream = "s" },
        { synchronize = "s" }"#;
    let pinned = workload(ONE, DEVICE, "", calls);
    assert_eq!(refused(&pinned, Remedy::Pin), Refusal::NothingPageable);
}

#[test]
fn waits_go_that_nothing_needs_and_stay_where_the_host_reads() {
    let found = checked(&workload(PINNED, DEVICE, "", QUARTERS), Remedy::DeferWaits);
    assert_eq!(waits(&found[0].program.body), 1, "{:?}", found[0].program.body);
    // The CPU reads y right behind each wait.
    let reads = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { copy = "b", to = "y", stream = "s" },
        { synchronize = "s" },
        { compute = "scale", reads = ["y"], writes = "x" }"#;
    let needed = workload(PINNED, DEVICE, "", reads);
    assert_eq!(refused(&needed, Remedy::DeferWaits), Refusal::WaitsAreNeeded);
}

#[test]
fn a_wait_for_the_device_becomes_one_for_an_event() {
    let calls = r#"
        { copy = "x", to = "a", stream = "s" },
        { copy = "a", to = "y", stream = "s" },
        { synchronize_device = 0 },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { compute = "scale", reads = ["y"], writes = "x" },
        { synchronize = "s" }"#;
    let found = checked(&workload(PINNED, DEVICE, "", calls), Remedy::DeferWaits);
    let body = &found[0].program.body;
    let event = body.iter().position(|c| matches!(c.awaited(), Some(Awaited::Event(_))));
    let launch = body.iter().position(Call::is_launch);
    assert!(launch < event, "{body:#?}");
}

#[test]
fn memory_is_taken_once_unless_it_is_read_before_it_is_written() {
    let taken =
        |calls: &str| workload(PINNED, DEVICE, "", &format!("{{ allocate = \"a\" }}, {calls}"));
    let kept = taken(
        r#"{ copy = "x", to = "a", stream = "s" }, { copy = "a", to = "y", stream = "s" },
           { synchronize = "s" }, { free = "a" }"#,
    );
    let found = checked(&kept, Remedy::KeepMemory);
    assert!(found[0].program.body.iter().all(|call| call.allocation().is_none()));
    assert_eq!(
        refused(&workload(PINNED, DEVICE, "", ROUND_TRIP), Remedy::KeepMemory),
        Refusal::NothingTaken
    );
    // What is new is nobody's: a program that reads it would leave something else.
    let reads = taken(
        r#"{ copy = "a", to = "y", stream = "s" }, { copy = "x", to = "a", stream = "s" },
           { synchronize = "s" }, { free = "a" }"#,
    );
    assert_eq!(refused(&reads, Remedy::KeepMemory), Refusal::NotProved);
}

#[test]
fn copies_that_bring_nothing_go_and_results_stay() {
    let memory = format!("{DEVICE}, {{ name = \"h\", kind = \"pinned\", size = \"64 KiB\" }}");
    let back_and_forth = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { copy = "b", to = "h", stream = "s" },
        { copy = "h", to = "a", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { copy = "b", to = "y", stream = "s" },
        { synchronize = "s" }"#;
    let found = checked(&workload(PINNED, &memory, "", back_and_forth), Remedy::DropCopies);
    let crossing = found[0].program.body.iter().filter(|call| call.crossing().is_some()).count();
    assert_eq!(crossing, 2, "{:#?}", found[0].program.body);
    let trip = workload(PINNED, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&trip, Remedy::DropCopies), Refusal::NothingRepeated);
}

#[test]
fn a_copy_is_made_once_only_if_its_bytes_do_not_change() {
    let trip = workload(PINNED, DEVICE, "", ROUND_TRIP);
    let found = checked(&trip, Remedy::CopyOnce);
    assert_eq!(found[0].conditions, [Condition::Unchanged]);
    let advice = advised(&trip);
    assert!(advice.changes.iter().all(|one| one.remedy != Remedy::CopyOnce));
    assert!(advice.only_if.iter().any(|one| one.remedy == Remedy::CopyOnce));
    // A kernel writes where it was copied to.
    let in_place = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "a", stream = "s" },
        { copy = "a", to = "y", stream = "s" },
        { synchronize = "s" }"#;
    let in_place = workload(PINNED, DEVICE, "", in_place);
    assert_eq!(refused(&in_place, Remedy::CopyOnce), Refusal::NothingRepeated);
}

#[test]
fn small_copies_become_one_and_large_ones_do_not() {
    let small = r#"
        { repeat = 16, index = "i", calls = [
            { copy = "x[i * 2 KiB..+1 KiB]", to = "a[i * 1 KiB..+1 KiB]", stream = "s" },
        ] },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { copy = "b", to = "y", stream = "s" },
        { synchronize = "s" }"#;
    let found = checked(&workload(PINNED, DEVICE, "", small), Remedy::Pack);
    let copies = |calls: &[Call]| calls.iter().filter(|call| call.crossing().is_some()).count();
    assert_eq!(copies(&found[0].program.body), 2);
    let own = r#"{ name = "a", kind = "device", size = "4 KiB" },
        { name = "b", kind = "device", size = "8 KiB" },
        { name = "c", kind = "device", size = "4 KiB" }"#;
    let each_its_own = r#"
        { copy = "x[0..4 KiB]", to = "a", stream = "s" },
        { copy = "y[0..8 KiB]", to = "b", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "c", stream = "s" },
        { copy = "c", to = "x[0..4 KiB]", stream = "s" },
        { copy = "b", to = "x[8 KiB..16 KiB]", stream = "s" },
        { synchronize = "s" }"#;
    checked(&workload(PINNED, own, "", each_its_own), Remedy::Pack);
    let quarters = workload(PINNED, DEVICE, "", QUARTERS);
    assert_eq!(refused(&quarters, Remedy::Pack), Refusal::NoRunOfCopies);
}

#[test]
fn the_next_data_come_while_this_is_computed_unless_it_is_built_upon() {
    let found = checked(&workload(PINNED, DEVICE, "", QUARTERS), Remedy::Prefetch);
    let streams = |one: &hallway::program::Program| one.streams.len();
    assert!(streams(&found[0].program) > 1);
    let device = |one: &hallway::program::Program| {
        one.allocations.iter().filter(|a| matches!(a.place, Place::Device(_))).count()
    };
    assert_eq!(device(&found[0].program), 3);
    // The kernel reads what it has left in the pass before.
    let builds = r#"
        { copy = "x[0..16 KiB]", to = "a[0..16 KiB]", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { copy = "b", to = "y", stream = "s" },
        { synchronize = "s" }"#;
    let builds = workload(PINNED, DEVICE, "", builds);
    assert_eq!(refused(&builds, Remedy::Prefetch), Refusal::StillRead);
    let copies_only = r#"{ copy = "x", to = "a", stream = "s" }, { synchronize = "s" }"#;
    let copies_only = workload(ONE, DEVICE, "", copies_only);
    assert_eq!(refused(&copies_only, Remedy::Prefetch), Refusal::NoKernel);
}

#[test]
fn an_upload_stays_behind_the_cpus_work_on_its_source() {
    let calls = r#"
        { repeat = 3, calls = [
            { compute = "scale", reads = ["x"], writes = "x" },
            { copy = "x", to = "a", stream = "s" },
            { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
            { copy = "b", to = "y", stream = "s" },
            { synchronize = "s" },
        ] }"#;
    assert_eq!(refused(&workload(PINNED, DEVICE, "", calls), Remedy::Prefetch), Refusal::StillRead);
}

#[test]
fn results_leave_in_a_stream_of_their_own() {
    checked(&workload(PINNED, DEVICE, "", QUARTERS), Remedy::DownloadStream);
    let none = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a"], writes = "b", stream = "s" },
        { synchronize = "s" }"#;
    let none = workload(ONE, DEVICE, "", none);
    assert_eq!(refused(&none, Remedy::DownloadStream), Refusal::NoDownload);
}

#[test]
fn elementwise_kernels_are_cut_and_sums_are_not() {
    checked(&workload(PINNED, DEVICE, "", ROUND_TRIP), Remedy::Chunks);
    let sum = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "sum", reads = ["a"], writes = "b[0..4]", stream = "s" },
        { copy = "b[0..4]", to = "y[0..4]", stream = "s" },
        { synchronize = "s" }"#;
    assert_eq!(refused(&workload(PINNED, DEVICE, "", sum), Remedy::Chunks), Refusal::NotCut);
}

/// Four kernels that read the same data and do not need each other.
const INDEPENDENT: &str = r#"
    { copy = "x", to = "a", stream = "s" },
    { repeat = 4, index = "i", calls = [
        { launch = "scale", reads = ["a[i * 16 KiB..+16 KiB]"],
          writes = "b[i * 16 KiB..+16 KiB]", stream = "s" },
    ] },
    { copy = "b", to = "y", stream = "s" },
    { synchronize = "s" }"#;

#[test]
fn independent_kernels_go_to_more_streams_and_chains_stay_in_one() {
    let found = checked(&workload(PINNED, DEVICE, "", INDEPENDENT), Remedy::MoreStreams);
    let streams = |one: &hallway::program::Program| {
        let used: BTreeSet<usize> =
            one.body.iter().filter_map(Call::launched).map(|(stream, _)| stream.0).collect();
        used.len()
    };
    let counts: Vec<usize> = found.iter().map(|one| streams(&one.program)).collect();
    assert_eq!(counts, [2, 4]);
    let trip = workload(PINNED, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&trip, Remedy::MoreStreams), Refusal::NoneIndependent);
    let one = workload(
        ONE,
        DEVICE,
        "",
        r#"{ copy = "x", to = "a", stream = "s" },
        { synchronize = "s" }"#,
    );
    assert_eq!(refused(&one, Remedy::MoreStreams), Refusal::FewOperations);
}

#[test]
fn launches_become_a_graph_and_pageable_copies_do_not() {
    let found = checked(&workload(PINNED, DEVICE, "", ROUND_TRIP), Remedy::Graph);
    assert!(found[0].program.has_graphs());
    let pageable = workload(HOST, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&pageable, Remedy::Graph), Refusal::NoRunOfLaunches);
}

#[test]
fn the_best_remedies_come_first_and_go_together() {
    let large = |text: &str| {
        let text = text.replace("elements = 16384", "elements = 4194304");
        text.replace("64 KiB", "16 MiB").replace("16 KiB", "4 MiB")
    };
    let [buffers, memory, calls] = [HOST, DEVICE, QUARTERS].map(large);
    let advice = advised(&workload(&buffers, &memory, "", &calls));
    assert_eq!(advice.changes[0].remedy, Remedy::Pin);
    assert!(advice.changes.windows(2).all(|pair| pair[0].factor >= pair[1].factor));
    let best = advice.best.expect("a combination");
    let last = best.steps.last().expect("steps");
    assert!(last.factor >= advice.changes[0].factor && best.steps.len() > 1);
    // With scatter, a step may lose what it gains without.
    assert!(best.steps.iter().all(|step| step.time.predicted_ns >= last.time.predicted_ns));
    assert!(last.factor_range[0] <= last.factor && last.factor <= last.factor_range[1]);
    let kept = advice.no_gain.iter().find(|one| one.remedy == Remedy::KeepMemory).expect("said");
    assert_eq!(kept.refusal, Some(Refusal::NothingTaken));
}
