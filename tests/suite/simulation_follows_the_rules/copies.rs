//! An engine carries one copy at a time in each direction, and the two directions slow each other.

use super::*;
use crate::machines::{FREE, contention, machine, wide_machine};
use hallway::profile::{Contention, Curve, Profile, Refetch};

#[test]
fn copies_of_one_direction_take_turns() {
    // The copies arrive at 4000 and 5000. Each takes 1000 + 5000, whatever its stream.
    let body = vec![copy_in(0, PINNED, 5_000), copy_in(1, PINNED, 5_000)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000), (10_000, 16_000)]);
    // Copies out are issued at 1500 and 3000, with a latency of 5000.
    let body = vec![copy_out(0, PINNED, 5_000), copy_out(1, PINNED, 5_000)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyOut), [(6_500, 12_500), (12_500, 18_500)]);
}

#[test]
fn directions_overlap_and_slow_each_other() {
    let body = vec![copy_in(0, PINNED, 8_000), copy_out(1, PINNED, 4_000)];
    let timeline = run(body, &machine());
    // The copy in takes 9000 from 4000 on. The copy out is issued at 2500 and arrives at 7500. By
    // then the copy in has 5500 left, which takes 11/9 of that from there, until 14223. The copy
    // out is delayed by 1000, and then its data takes 9/5 of its time: in the 5723 that the copy in
    // still lasts it does 3179.4 of its 5000, and the rest alone.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 14_223)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 16_044)]);
}

#[test]
fn what_each_byte_pays_beside_others_depends_on_the_size() {
    let mut machine = machine();
    machine.link.down_shared = FREE;
    let per_byte = Some(Curve { knots: vec![(4_000.0, 0.05), (40_000.0, 0.125)], scatter: 0.0 });
    machine.link.up_shared = Some(Contention { per_byte, ..contention(700.0, 0.125) });
    // The copies have 40, 22,000 and 48,000 bytes: they go by the smallest known size, by both, and
    // by the largest.
    for (elements, longer) in [(10, 2), (5_500, 1_925), (12_000, 6_000)] {
        let body = vec![copy_in(0, PINNED, 50_000), copy_out(1, PINNED, elements)];
        let end = 7_500 + 1_000 + 700 + elements + longer;
        assert_eq!(spans(&run(body, &machine), Lane::CopyOut), [(7_500, end)], "{elements}");
    }
}

/// The copy to the host counts as writing its whole allocation, whatever its own size.
#[test]
fn data_kept_in_the_hosts_caches_slows_copies_less() {
    let mut machine = machine();
    machine.link.down_shared = FREE;
    machine.link.up_shared = Some(contention(700.0, 0.125));
    machine.link.down_shared_kept = FREE;
    let per_byte = Some(Curve { knots: vec![(20_000.0, 0.0625)], scatter: 0.0 });
    machine.link.up_shared_kept = Some(Contention { per_byte, ..contention(300.0, 0.0625) });
    let longer = |machine: &Profile, elements| {
        let body = vec![copy_in(0, PINNED, 50_000), copy_out(1, PINNED, elements)];
        lasts(&run(body, machine), Lane::CopyOut)[0] - 1_000 - elements
    };
    // The share of misses is unknown at first, and then none, all, and half.
    assert_eq!(longer(&machine, 12_000), 6_700);
    for (misses, expected) in [(0.0, 3_300), (1.0, 6_700), (0.5, 5_000)] {
        machine.caches.written_misses = Some(vec![(1.0, misses), (1e9, misses)]);
        assert_eq!(longer(&machine, 12_000), expected, "{misses}");
        // This copy is smaller than any known size of the kept kind.
        assert_eq!(longer(&machine, 4_000), 700 + 2_000, "{misses}");
    }
}

#[test]
fn a_small_copy_beside_others_pays_what_was_measured_of_small_ones() {
    let mut machine = machine();
    machine.link.down_shared = FREE;
    let small = Curve { knots: vec![(400.0, 100.0), (4_000.0, 600.0)], scatter: 0.0 };
    let of_large = contention(700.0, 0.0);
    machine.link.up_shared = Some(Contention { per_small_copy: Some(small), ..of_large });
    for (elements, longer) in [(10, 100), (100, 100), (550, 350), (1_000, 700)] {
        let body = vec![copy_in(0, PINNED, 50_000), copy_out(1, PINNED, elements)];
        let lasts = lasts(&run(body, &machine), Lane::CopyOut);
        assert_eq!(lasts, [1_000 + elements + longer], "{elements} elements");
    }
}

/// A machine on which copies to the device take 700 longer beside kernels.
fn with_kernels_in_the_way() -> Profile {
    let mut machine = wide_machine();
    machine.link.down_beside_kernels = Some(Curve { knots: vec![(40_000.0, 700.0)], scatter: 0.0 });
    machine
}

#[test]
fn a_copy_beside_kernels_takes_longer_once() {
    let machine = with_kernels_in_the_way();
    // The kernels arrive from 7000 on, one after the other, while the copy is under way.
    for kernels in [1, 2, 5] {
        let copy = std::iter::once(copy_in(0, PINNED, 50_000));
        let body = copy.chain((0..kernels).map(|_| launch(1, 9_000))).collect();
        let timeline = run(body, &machine);
        assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 55_700)], "{kernels} kernels");
        assert_eq!(spans(&timeline, Lane::Kernels)[0], (8_000, 17_000));
    }
    // The kernel's gap begins at 6000, as the first copy does. At 9000 the kernel is over.
    let body = vec![launch(1, 10), copy_in(0, PINNED, 2_500), copy_in(0, PINNED, 500)];
    let timeline = run(body, &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(6_000, 10_200), (10_200, 11_700)]);
    // A kernel of the copy's own stream comes after the copy.
    let body = vec![copy_in(0, PINNED, 2_000), launch(0, 2_000), copy_out(1, PINNED, 10)];
    assert_eq!(spans(&run(body, &machine), Lane::CopyIn), [(4_000, 7_000)]);
    // For the other direction, nothing was measured.
    let body = vec![copy_out(0, PINNED, 50_000), launch(1, 9_000)];
    assert_eq!(spans(&run(body, &machine), Lane::CopyOut), [(6_500, 57_500)]);
}

#[test]
fn a_small_pageable_copy_in_needs_no_engine() {
    // The copy travels along with the commands, from its return at 1000 + 8010 on.
    let body = vec![copy_in(0, PINNED, 50_000), copy_in(1, PAGEABLE, 10)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 55_000), (9_010, 11_010)]);
}

#[test]
fn an_engine_stays_with_a_stream_that_has_more_for_it() {
    // The copy of stream 1 is ready at 5000. The second copy of stream 0 is ready only at 10000,
    // when the first ends. Still, stream 0 keeps the engine.
    let body = vec![
        copy_in(0, PINNED, 5_000),
        copy_in(1, PINNED, 2_000),
        copy_in(0, PINNED, 3_000),
        copy_in(1, PINNED, 1_000),
    ];
    let timeline = run(body, &machine());
    let calls: Vec<usize> = timeline.lane(Lane::CopyIn).map(|activity| activity.call).collect();
    assert_eq!(calls, [0, 2, 1, 3]);
    let expected = [(4_000, 10_000), (10_000, 14_000), (14_000, 17_000), (17_000, 19_000)];
    assert_eq!(spans(&timeline, Lane::CopyIn), expected);
}

#[test]
fn going_to_another_stream_takes_an_engine_a_while() {
    let mut machine = machine();
    // Changing takes 200 where two streams keep the engine busy, and 300 where three do.
    let knots = vec![(2.0, 200.0), (3.0, 300.0)];
    machine.link.down_switch = Some(Curve { knots, scatter: 0.0 });
    let copies = |streams: &[usize]| {
        let body = streams.iter().map(|&stream| copy_in(stream, PINNED, 5_000)).collect();
        spans(&run(body, &machine), Lane::CopyIn)
    };
    // Each copy takes 1000 + 5000, and longer if the engine changes streams for it.
    assert_eq!(copies(&[0, 0]), [(4_000, 10_000), (10_000, 16_000)]);
    assert_eq!(copies(&[0, 1]), [(4_000, 10_000), (10_000, 16_200)]);
    assert_eq!(copies(&[0, 1, 0])[0], (4_000, 10_000));
    let three = [(4_000, 10_000), (10_000, 16_300), (16_300, 22_600)];
    assert_eq!(copies(&[0, 1, 2]), three);
    // The second copy arrives when half of the change, or all of it, has passed while the engine
    // was idle.
    let later = |by: u64| {
        let body = vec![copy_in(0, PINNED, 5_000), compute(4_000 + by), copy_in(1, PINNED, 5_000)];
        spans(&run(body, &machine), Lane::CopyIn)[1]
    };
    assert_eq!(later(100), (10_100, 16_200));
    assert_eq!(later(300), (10_300, 16_300));
    // The other direction has a model of its own, and counts only its own streams.
    let body = vec![copy_in(0, PINNED, 10), copy_out(1, PINNED, 5_000), copy_out(2, PINNED, 10)];
    let out = spans(&run(body, &machine), Lane::CopyOut);
    assert_eq!(out, [(7_500, 13_500), (13_500, 14_510)]);
}

/// A machine on which waiting kernels slow copies to the device. With three streams, a copy takes a
/// tenth longer for each kernel that a stream holds, up to three kernels; with two streams, half as
/// much longer.
fn refetching() -> Profile {
    let refetch = |streams, tenth| Refetch {
        streams,
        slowdown: Curve { knots: vec![(0.0, 1.0), (3.0, 1.0 + 3.0 * tenth)], scatter: 0.0 },
    };
    let mut machine = machine();
    machine.link.refetches = vec![refetch(2, 0.05), refetch(3, 0.1)];
    machine
}

#[test]
fn kernels_that_wait_in_several_streams_slow_copies_to_the_device() {
    // Returns what the second copy takes while other streams hold as many kernels as `held` says,
    // which wait for that copy's end. The first copy, from 4000 to 55000, starts before any kernel
    // is launched.
    let takes = |held: &[usize]| {
        let mut body = vec![copy_in(0, PINNED, 50_000), copy_in(0, PINNED, 9_000), record(0, 0)];
        for (stream, &kernels) in (1..).zip(held) {
            body.push(wait(stream, 0));
            body.extend((0..kernels).map(|_| launch(stream, 10)));
        }
        let plan = Program { streams: vec![StreamTraits::default(); 5], ..tiny(body) };
        let timeline = simulate(&plan, &refetching()).expect("known");
        let copies = spans(&timeline, Lane::CopyIn);
        assert_eq!(copies[0], (4_000, 55_000));
        copies[1].1 - copies[1].0
    };
    assert_eq!(takes(&[]), 10_000);
    assert_eq!(takes(&[3]), 10_000);
    assert_eq!(takes(&[1, 1]), 10_500);
    assert_eq!(takes(&[1, 1, 1]), 11_000);
    // Each stream holds two on average. More than three make no difference.
    assert_eq!(takes(&[1, 1, 4]), 12_000);
    assert_eq!(takes(&[5, 5, 5]), 13_000);
    assert_eq!(takes(&[1, 1, 1, 1]), 11_000);
}

#[test]
fn what_waiting_kernels_cost_copies_has_to_be_known_where_several_streams_launch() {
    let mut machine = machine();
    machine.link.refetches.clear();
    let predicted = |body| simulate(&tiny(body), &machine);
    predicted(vec![copy_in(0, PINNED, 10), launch(0, 10)]).expect("one stream");
    predicted(vec![launch(0, 10), launch(1, 10)]).expect("no copy");
    let error = predicted(vec![copy_in(0, PINNED, 10), launch(0, 10), launch(1, 10)]);
    let error = error.expect_err("two streams").to_string();
    assert!(error.contains("kernels waiting in other streams"), "{error}");
}
