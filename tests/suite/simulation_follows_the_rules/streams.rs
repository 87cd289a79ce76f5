//! A stream is a FIFO, events order streams, and going from engine to engine costs a hand-over.

use super::*;
use crate::machines::{machine, wide_machine};
use hallway::profile::{Curve, Polling};

#[test]
fn a_stream_does_one_thing_after_another() {
    let timeline = run(there_and_back(), &machine());
    // The calls are issued at 1000, 3000 and 4500. Only the first operation waits for its own
    // latency.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000)]);
    // Before the kernel come a hand-over of 300 and a gap of 1000; it takes 4000.
    assert_eq!(spans(&timeline, Lane::Kernels), [(11_300, 15_300)]);
    // Before the copy out comes a hand-over of 400.
    assert_eq!(spans(&timeline, Lane::CopyOut), [(15_700, 21_700)]);
    assert_eq!(makespan(&timeline), 27_700);
}

#[test]
fn an_event_makes_another_stream_wait() {
    let body = vec![copy_in(0, PINNED, 5_000), record(0, 0), wait(1, 0), launch(1, 4_000)];
    let timeline = run(body, &machine());
    // The copy ends at 10000. Across streams the hand-over is 700; then comes the gap.
    assert_eq!(spans(&timeline, Lane::Kernels), [(11_700, 15_700)]);
}

#[test]
fn a_hand_over_is_paid_by_what_is_there_and_waits() {
    // The copy ends at 10000. The launch is issued at 4300, and one nanosecond later for each
    // element that is computed before it. It arrives 4000 later.
    let dispatched = |elements| {
        let body = vec![
            copy_in(0, PINNED, 5_000),
            record(0, 0),
            compute(elements),
            wait(1, 0),
            launch(1, 4_000),
        ];
        spans(&run(body, &machine()), Lane::Kernels)[0].0
    };
    // The kernel arrives at 8400: it pays the whole hand-over of 700, then the gap.
    assert_eq!(dispatched(100), 11_700);
    // The kernel arrives at 10400 and has done nine tenths of its way when the copy ends: it pays
    // 630 of 700.
    assert_eq!(dispatched(2_100), 11_630);
    // The launch is issued at 10300, when it has nothing to wait for. It arrives at 14300.
    assert_eq!(dispatched(6_000), 15_300);
}

#[test]
fn a_small_copy_into_an_empty_stream_goes_along_with_its_command() {
    let machine = with_small_copies_inline(machine());
    let twice = run(vec![copy_in(0, PINNED, 1_000), copy_in(0, PINNED, 1_000)], &machine);
    // The second copy is called at 1500 and finds the first one unfinished. So it is issued at
    // 2500, with a latency of 3000.
    assert_eq!(spans(&twice, Lane::CopyIn), [(1_500, 3_000), (5_500, 7_500)]);
    let larger = run(vec![copy_in(0, PINNED, 2_000)], &machine);
    assert_eq!(spans(&larger, Lane::CopyIn), [(4_000, 7_000)]);
    // The second copy is called at 4500, when the stream is empty again.
    let late =
        run(vec![copy_in(0, PINNED, 1_000), compute(2_000), copy_in(0, PINNED, 1_000)], &machine);
    assert_eq!(spans(&late, Lane::CopyIn), [(1_500, 3_000), (6_000, 7_500)]);
}

#[test]
fn a_busy_engine_pays_no_hand_over() {
    // The kernel is issued at 3500, arrives at 7500 and ends at 12500. The copy behind it has been
    // there since 10000. A copy of another stream starts at 6500.
    let behind = |elements| {
        let body =
            vec![copy_out(1, PINNED, elements), launch(0, 4_000), copy_out(0, PINNED, 5_000)];
        let timeline = run(body, &machine());
        assert_eq!(spans(&timeline, Lane::Kernels), [(8_500, 12_500)]);
        spans(&timeline, Lane::CopyOut)[1]
    };
    // The engine finishes at 12400 and is idle when the kernel ends, so the copy pays a hand-over
    // of 400.
    assert_eq!(behind(4_900), (12_900, 18_900));
    // The engine finishes at 12600 and goes on at once.
    assert_eq!(behind(5_100), (12_600, 18_600));
}

#[test]
fn only_the_first_of_its_kind_in_an_emptied_stream_pays_the_first_hand_over() {
    let mut machine = machine();
    for hand_over in &mut machine.hand_overs {
        hand_over.queued = exactly(hand_over.first.ns - 200.0);
    }
    let body = vec![
        copy_in(0, PINNED, 5_000),
        launch(0, 4_000),
        copy_in(0, PINNED, 5_000),
        launch(0, 4_000),
        synchronize(0),
        copy_in(0, PINNED, 5_000),
        launch(0, 4_000),
    ];
    let timeline = run(body, &machine);
    // The host wakes up at 32400, and issues the third copy at 33400.
    let copies = [(4_000, 10_000), (15_300, 21_300), (36_400, 42_400)];
    assert_eq!(spans(&timeline, Lane::CopyIn), copies);
    // The first kernel pays a hand-over of 300 and a gap of 1000. The second pays 100, because it
    // was queued, and the third 300 again.
    let kernels = [(11_300, 15_300), (22_400, 26_400), (43_700, 47_700)];
    assert_eq!(spans(&timeline, Lane::Kernels), kernels);
}

#[test]
fn a_kernel_behind_a_kernel_pays_for_streams_that_wait() {
    let mut machine = machine();
    let delay = Curve { knots: vec![(0.0, 0.0), (1.0, 300.0), (2.0, 900.0)], scatter: 0.0 };
    machine.polling = vec![Polling { copies: [false, false], delay }];
    let second = |others: usize| {
        // Each of the other streams holds a kernel that waits for the last kernel of stream 0.
        let mut body = vec![launch(0, 20_000), launch(0, 20_000), record(0, 0)];
        body.extend((1..=others).flat_map(|stream| [wait(stream, 0), launch(stream, 4_000)]));
        spans(&run(body, &machine), Lane::Kernels)[1].0
    };
    // The first kernel runs from 2000 + 4000 + 1000 to 27000. Then comes the gap of the second.
    assert_eq!(second(0), 28_000);
    assert_eq!(second(1), 28_300);
    assert_eq!(second(2), 28_900);
}

#[test]
fn more_streams_than_channels_depend_on_each_other_falsely() {
    // A kernel in stream 0 waits for a copy. Later, a kernel is launched in another stream.
    let started = |other: usize, streams: usize| {
        let body = vec![
            copy_in(1, PINNED, 50_000),
            record(1, 0),
            wait(0, 0),
            launch(0, 10),
            launch(other, 10),
        ];
        let plan = Program { streams: vec![StreamTraits::default(); streams], ..tiny(body) };
        let timeline = simulate(&plan, &machine()).expect("known");
        kernel_start(&timeline, 4)
    };
    // The kernel is issued at 5300, with a latency of 4000 and a gap of 1000.
    assert_eq!(started(7, 9), 10_300);
    // Stream 8 shares the channel of stream 0, whose kernel waits until 55000.
    assert_eq!(started(8, 9), 55_000 + 700 + 1_000);
}

#[test]
fn the_legacy_default_stream_is_a_barrier_for_blocking_streams() {
    use StreamKind::{Blocking, LegacyDefault, NonBlocking};
    let machine = wide_machine();
    let after = |kinds| {
        let body = vec![copy_in(0, PINNED, 5_000), launch(1, 4_000), copy_out(2, PINNED, 5_000)];
        let timeline = simulate(&tiny_with(kinds, body), &machine).expect("known");
        assert_eq!(spans(&timeline, Lane::CopyIn), [(4_000, 10_000)]);
        (spans(&timeline, Lane::Kernels)[0].0, spans(&timeline, Lane::CopyOut)[0].0)
    };
    // The barrier acts as if events lay between. Before the kernel come a hand-over of 700 and the
    // gap, and it takes 4000; before the copy comes a hand-over of 900.
    assert_eq!(after([Blocking, LegacyDefault, Blocking]), (11_700, 16_600));
    // Both are issued at 3000 and 4500, with latencies of 4000 and 5000; the kernel also has a gap.
    assert_eq!(after([NonBlocking, LegacyDefault, NonBlocking]), (8_000, 9_500));
    assert_eq!(after([Blocking, LegacyDefault, NonBlocking]), (11_700, 9_500));
    assert_eq!(after([Blocking; 3]), (8_000, 9_500));
}
