//! Remedies that move fewer bytes, or move them in another way: where each applies, and where it
//! must not.

use super::one_by_one::{DEVICE, HOST, PINNED, ROUND_TRIP, refused};
use super::{checked, workload};
use hallway::advise::{Refusal, Remedy};
use hallway::program::{Call, CopyBy, Threads};
use hallway::units::Bytes;

fn crossing(calls: &[Call]) -> Vec<Bytes> {
    calls.iter().filter_map(|call| call.crossing().map(|(.., from, _)| from.length)).collect()
}

#[test]
fn bytes_that_nothing_reads_are_not_copied() {
    let part = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a[4 KiB..8 KiB]"], writes = "b[4 KiB..8 KiB]", stream = "s" },
        { launch = "scale", reads = ["a[12 KiB..16 KiB]"], writes = "b[0..4 KiB]", stream = "s" },
        { copy = "b[0..8 KiB]", to = "y[0..8 KiB]", stream = "s" },
        { synchronize = "s" }"#;
    let found = checked(&workload(PINNED, DEVICE, "", part), Remedy::Narrow);
    assert_eq!(crossing(&found[0].program.body), [Bytes::kib(12), Bytes::kib(8)]);
    let trip = workload(PINNED, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&trip, Remedy::Narrow), Refusal::AllIsRead);
    // The next pass reads the rest before it is copied again.
    let next = r#"
        { copy = "a[32 KiB..64 KiB]", to = "y[0..32 KiB]", stream = "s" },
        { copy = "x", to = "a", stream = "s" },
        { launch = "scale", reads = ["a[0..4 KiB]"], writes = "b[0..4 KiB]", stream = "s" },
        { copy = "b[0..4 KiB]", to = "y[60 KiB..64 KiB]", stream = "s" },
        { synchronize = "s" }"#;
    let next = workload(PINNED, DEVICE, "", next);
    assert_eq!(refused(&next, Remedy::Narrow), Refusal::AllIsRead);
}

/// A number of each of eight steps.
fn numbers(between: &str) -> String {
    format!(
        r#"
        {{ copy = "x", to = "a", stream = "s" }},
        {{ repeat = 8, index = "i", calls = [
            {{ launch = "sum", reads = ["a"], writes = "b[0..4]", stream = "s" }},
            {{ copy = "b[0..4]", to = "y[i * 8..+4]", stream = "s" }},
            {{ synchronize = "s" }},{between}
        ] }}"#
    )
}

#[test]
fn small_results_come_together_unless_each_is_read_at_once() {
    let found = checked(&workload(HOST, DEVICE, "", &numbers("")), Remedy::Gather);
    let body = &found[0].program.body;
    assert_eq!(crossing(body), [Bytes::kib(64), Bytes::new(32)], "{body:#?}");
    let reads = numbers(r#" { compute = "scale", reads = ["y"], writes = "y" },"#);
    let read = workload(HOST, DEVICE, "", &reads);
    assert_eq!(refused(&read, Remedy::Gather), Refusal::NotProved);
    let trip = workload(HOST, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&trip, Remedy::Gather), Refusal::FewResults);
}

#[test]
fn large_pageable_copies_go_through_pinned_buffers() {
    let large = |text: &str| {
        text.replace("elements = 16384", "elements = 2621440").replace("64 KiB", "10 MiB")
    };
    let [buffers, memory] = [HOST, DEVICE].map(large);
    let found = checked(&workload(&buffers, &memory, "", ROUND_TRIP), Remedy::Stage);
    let by_all = |call: &&Call| call.sides().by == Some(CopyBy::Host(Threads::All));
    let pieces = |at: usize| found[at].program.body.iter().filter(by_all).count();
    assert_eq!([pieces(0), pieces(1)], [10, 4]);
    assert_eq!(found[0].program.pinned_bytes(), Bytes::mib(4));
    for small_or_pinned in [workload(HOST, DEVICE, "", ROUND_TRIP), {
        workload(&large(PINNED), &memory, "", ROUND_TRIP)
    }] {
        assert_eq!(refused(&small_or_pinned, Remedy::Stage), Refusal::NothingPageable);
    }
}

#[test]
fn what_is_used_once_needs_no_copy() {
    let found = checked(&workload(PINNED, DEVICE, "", ROUND_TRIP), Remedy::InPlace);
    let copies: Vec<usize> = found.iter().map(|one| crossing(&one.program.body).len()).collect();
    assert_eq!(copies, [1, 1, 0]);
    let takes = |call: &&Call| call.memory_change().is_some();
    assert_eq!(found[2].program.setup.iter().filter(takes).count(), 0);
    let twice = r#"
        { copy = "x", to = "a", stream = "s" },
        { launch = "sum", reads = ["a"], writes = "b[0..4]", stream = "s" },
        { launch = "sum", reads = ["a"], writes = "b[4..8]", stream = "s" },
        { copy = "b[0..4]", to = "y[0..4]", stream = "s" },
        { copy = "b[0..8]", to = "y[8..16]", stream = "s" },
        { synchronize = "s" }"#;
    let twice = workload(PINNED, DEVICE, "", twice);
    assert_eq!(refused(&twice, Remedy::InPlace), Refusal::NotUsedOnce);
    let pageable = workload(HOST, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&pageable, Remedy::InPlace), Refusal::NotUsedOnce);
}

#[test]
fn managed_pages_move_before_they_are_used() {
    let memory = r#"{ name = "m", kind = "managed", size = "64 KiB" },
        { name = "n", kind = "managed", size = "64 KiB" }"#;
    let calls = r#"
        { copy = "x", to = "m" },
        { launch = "scale", reads = ["m"], writes = "n", stream = "s" },
        { synchronize = "s" },
        { copy = "n", to = "y" }"#;
    let found = checked(&workload(HOST, memory, "", calls), Remedy::PrefetchManaged);
    let prefetches = |at: usize| {
        let body = &found[at].program.body;
        body.iter().filter(|call| matches!(call, Call::Prefetch { .. })).count()
    };
    assert_eq!([prefetches(0), prefetches(1)], [2, 3]);
    let stays = r#"
        { launch = "scale", reads = ["m"], writes = "n", stream = "s" },
        { launch = "scale", reads = ["n"], writes = "a", stream = "s" },
        { copy = "x", to = "b", stream = "s" },
        { copy = "a", to = "y", stream = "s" },
        { synchronize = "s" }"#;
    let stays = workload(HOST, &format!("{memory}, {DEVICE}"), "", stays);
    assert_eq!(refused(&stays, Remedy::PrefetchManaged), Refusal::PagesAreThere);
    let trip = workload(HOST, DEVICE, "", ROUND_TRIP);
    assert_eq!(refused(&trip, Remedy::PrefetchManaged), Refusal::NoManagedMemory);
}
