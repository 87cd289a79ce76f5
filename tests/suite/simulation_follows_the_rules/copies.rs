//! One copy at a time in each direction; the two directions slow each other.

use super::*;
use crate::machines::{FREE, machine};
use hallway::profile::{Contention, Curve};

#[test]
fn copies_of_one_direction_take_turns() {
    // Arrivals at 4000 and 5000; each takes 1000 + 5000, whatever its stream.
    let body = vec![copy_in(0, PINNED, 5_000), copy_in(1, PINNED, 5_000)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000), (10_000, 16_000)]);
    // Out: issued at 1500 and 3000, latency 5000.
    let body = vec![copy_out(0, PINNED, 5_000), copy_out(1, PINNED, 5_000)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyOut), [(6_500, 12_500), (12_500, 18_500)]);
}

#[test]
fn directions_overlap_and_slow_each_other() {
    let body = vec![copy_in(0, PINNED, 8_000), copy_out(1, PINNED, 4_000)];
    let timeline = run(body, &machine());
    // In takes 9000 from 4000 on. Out arrives at 7500 (issued 2500, latency 5000),
    // where in has 5500 left, which takes 11/9 of that from now on: until 14223.
    // Out is delayed by 1000 and then takes 9/5: in the 5723 that are left it does
    // 3179.4 of its 5000. The rest it does alone.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 14_223)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 16_044)]);
}

#[test]
fn a_copy_slows_nobody_before_it_starts_or_after_it_ends() {
    // In ends at 7500, at the very moment at which out begins.
    let body = vec![copy_in(0, PINNED, 2_500), copy_out(1, PINNED, 4_000)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 7_500)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 12_500)]);
}

#[test]
fn a_copy_beside_others_pays_for_itself_and_for_its_bytes() {
    let mut machine = machine();
    machine.link.down_shared = FREE;
    // 700 more for the copy and half a nanosecond more for an element.
    machine.link.up_shared = Some(Contention { per_copy_ns: 700.0, per_byte_ns: 0.125 });
    for elements in [10, 1_000, 12_000] {
        let body = vec![copy_in(0, PINNED, 50_000), copy_out(1, PINNED, elements)];
        let timeline = run(body, &machine);
        assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 55_000)]);
        let end = 7_500 + 1_000 + 700 + elements + elements / 2;
        assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, end)], "{elements} elements");
    }
}

#[test]
fn a_link_that_carries_both_slows_neither() {
    let mut machine = machine();
    (machine.link.down_shared, machine.link.up_shared) = (FREE, FREE);
    let timeline = run(vec![copy_in(0, PINNED, 8_000), copy_out(1, PINNED, 4_000)], &machine);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 13_000)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 12_500)]);
}

#[test]
fn copies_and_kernels_do_not_slow_each_other() {
    let timeline = run(vec![copy_in(0, PINNED, 50_000), launch(1, 50_000)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 55_000)]);
    // Issued at 3000, arrives at 7000, gap 1000.
    assert_eq!(spans(&timeline, Lane::Kernels), [(8_000, 58_000)]);
}

#[test]
fn a_small_pageable_copy_in_needs_no_engine() {
    // It goes along with the commands: from its return at 1000 + 8010 on.
    let body = vec![copy_in(0, PINNED, 50_000), copy_in(1, PAGEABLE, 10)];
    let timeline = run(body, &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 55_000), (9_010, 11_010)]);
}

#[test]
fn an_engine_stays_with_a_stream_that_has_more_for_it() {
    // Stream 1 is ready at 5000, long before stream 0 has its second copy ready,
    // which is when the first ends: at 10000. Stream 0 keeps the engine.
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
    // 200 where two streams keep the engine busy, 300 where three do.
    let knots = vec![(2.0, 200.0), (3.0, 300.0)];
    machine.link.down_switch = Some(Curve { knots, scatter: 0.0 });
    let copies = |streams: &[usize]| {
        let body = streams.iter().map(|&stream| copy_in(stream, PINNED, 5_000)).collect();
        spans(&run(body, &machine), Lane::CopyIn)
    };
    // Each takes 1000 + 5000, and the second stream's engine time is longer.
    assert_eq!(copies(&[0, 0]), [(4_000, 10_000), (10_000, 16_000)]);
    assert_eq!(copies(&[0, 1]), [(4_000, 10_000), (10_000, 16_200)]);
    let three = [(4_000, 10_000), (10_000, 16_300), (16_300, 22_600)];
    assert_eq!(copies(&[0, 1, 2]), three);
    // The other direction has a model of its own, and streams of its own.
    let body = vec![copy_in(0, PINNED, 10), copy_out(1, PINNED, 5_000), copy_out(2, PINNED, 10)];
    let out = spans(&run(body, &machine), Lane::CopyOut);
    assert_eq!(out, [(7_500, 13_500), (13_500, 14_510)]);
}
