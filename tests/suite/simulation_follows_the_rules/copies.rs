//! One copy at a time in each direction; the two directions share a link.

use super::*;
use crate::machines::machine;

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
fn directions_overlap_and_slow_each_other_by_the_shared_bandwidth() {
    let timeline = run(vec![copy_in(0, PINNED, 8_000), copy_out(1, PINNED, 4_000)], &machine());
    // In flows from 5000, out from 8500 (issued 2500, latency 5000, fixed 1000).
    // In has 4500 left then and goes on at half speed: until 17500. Out flows at
    // a quarter and has done 2250 by then; the other 1750 go at full speed.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 17_500)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 19_250)]);
}

#[test]
fn a_copy_slows_nobody_before_it_flows() {
    // 3500 elements flow from 5000 to 8500, the moment at which out begins to.
    let timeline = run(vec![copy_in(0, PINNED, 3_500), copy_out(1, PINNED, 4_000)], &machine());
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 8_500)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 12_500)]);
}

#[test]
fn a_flow_delays_what_the_other_direction_costs_besides_its_bytes() {
    let mut machine = machine();
    (machine.link.up_delay, machine.link.down_delay) = (3.0, 5.0);
    let timeline = run(vec![copy_in(0, PINNED, 9_000), copy_out(1, PINNED, 10)], &machine);
    // In flows from 5000 on, alone and so undelayed. Out holds its engine from
    // 7500, for three times 1000. In has 3500 left when out begins to flow, and
    // out needs 40 for its 10 elements, in which in does 20.
    assert_eq!(spans(&timeline, Lane::CopyOut), [(7_500, 10_540)]);
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 14_020)]);
}

#[test]
fn a_link_that_carries_both_slows_neither() {
    let mut machine = machine();
    (machine.link.down_shared, machine.link.up_shared) = (machine.link.down, machine.link.up);
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
    machine.link.down_switch.knots = vec![(2.0, 200.0), (3.0, 300.0)];
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
