//! What came too early goes on when its engine looks again.

use super::*;
use crate::machines::machine;
use hallway::profile::{LooksAfter, OperationKind};

/// The machine, whose engines look again after so long.
fn looking(period: f64) -> Profile {
    let mut machine = machine();
    machine.latency.looks = Some(looks(period));
    machine
}

/// The look behind one that counts from then, of engines that look again after 6000: at the
/// eighth edge of their clock. Without luck, the edges are at 375, 1125, 1875 and so on, and what
/// looks count from is what they do in the mean, half a tick early.
fn look(from: u64) -> u64 {
    let edges = (0..).map(|edge| 375 + 750 * edge);
    edges.filter(|&edge| edge > from + 375).nth(7).expect("they go on for ever")
}

/// When the first kernel behind the copy that ends at 10000 is dispatched, a gap of 1000
/// after it was found. It arrives at 7000, and the host goes on at 3000.
fn dispatched(more: Vec<Call>) -> u64 {
    let mut body = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    body.extend(more);
    let timeline = simulate(&tiny(body), &looking(6_000.0)).expect("known");
    let found = timeline.lane(Lane::Kernels).find(|activity| activity.call == 1);
    found.expect("it ran").start.since_start().nanos()
}

#[test]
fn what_comes_too_early_looks_again_after_whole_periods() {
    // With edges at 100, 300, 500 and so on.
    let machine = looking(1_600.0);
    // The copy ends at 10000; the launch is issued at 4000 + 1 an element.
    let dispatched = |elements| {
        let body = vec![copy_in(0, PINNED, 5_000), compute(elements), launch(0, 4_000)];
        spans(&run(body, &machine), Lane::Kernels)[0].0
    };
    // Arrives at 8100, looks again at the eighth edge behind 8200, at 9700, and at 11300; then
    // the gap.
    assert_eq!(dispatched(100), 12_300);
    // Arrives at 8950, looks again at the eighth behind 9050.
    assert_eq!(dispatched(950), 11_500);
    // Arrives at 11200 and finds the way clear.
    assert_eq!(dispatched(3_200), 12_200);
}

#[test]
fn periods_may_count_from_later_on() {
    let mut machine = looking(6_000.0);
    let looks = machine.latency.looks.as_mut().expect("it looks");
    looks.grace = exactly(2_000.0);
    let after = |from, time| {
        let time = exactly(time);
        LooksAfter { from, to: OperationKind::Kernel, time, under_way: None, grace: None }
    };
    looks.after = vec![after(OperationKind::CopyIn, 2_500.0), after(OperationKind::CopyOut, 500.0)];
    let found = |elements| {
        let body = vec![copy_in(0, PINNED, elements), launch(0, 4_000)];
        spans(&run(body, &machine), Lane::Kernels)[0].0 - 1_000
    };
    // It arrives at 7000. The copy ends at 9000: soon enough.
    assert_eq!(found(4_000), 9_000);
    // At 9400, when none has begun: a period later.
    assert_eq!(found(4_400), look(9_400 - 375));
    // At 10000, and at 15800: a period after 9500, and two.
    assert_eq!(found(5_000), look(9_500));
    assert_eq!(found(10_800), look(9_500) + 6_000);
}

/// A command stands behind the copy's data, of which more and more is under way.
#[test]
fn periods_count_the_later_the_longer_the_copy_is_under_way() {
    let mut machine = looking(6_000.0);
    let looks = machine.latency.looks.as_mut().expect("it looks");
    let under_way = Some(Curve { knots: vec![(2_000.0, 500.0), (6_000.0, 2_500.0)], scatter: 0.0 });
    let after = |to| {
        let (from, time, under_way) = (OperationKind::CopyIn, exactly(500.0), under_way.clone());
        LooksAfter { from, to, time, under_way, grace: None }
    };
    looks.after = [OperationKind::Kernel, OperationKind::CopyOut].map(after).to_vec();
    let found = |bytes, meanwhile| {
        let body = vec![copy_in(0, PINNED, bytes), compute(meanwhile), launch(0, 4_000)];
        spans(&run(body, &machine), Lane::Kernels)[0].0 - 1_000
    };
    // The copy begins at 4000. The kernel comes 5000 after that, and 9000.
    assert_eq!(found(11_000, 1_000), look(9_000 + 2_000));
    assert_eq!(found(15_000, 5_000), look(13_000 + 2_500));
    // One that waits for something else stands behind no more than what is left.
    let found = |bytes| {
        let body = vec![
            launch(1, 20_000),
            record(1, 0),
            copy_in(0, PINNED, bytes),
            compute(5_000),
            wait(2, 0),
            copy_out(2, PINNED, 500),
        ];
        spans(&run(body, &machine), Lane::CopyOut)[0].0
    };
    let behind_nothing = found(9_000);
    // What was over when it came; with about 1500 left, and with much more; in ticks of 750.
    assert_eq!(found(10_250), behind_nothing + 1_500);
    assert_eq!(found(30_000), behind_nothing + 2_250);
}

#[test]
fn what_comes_a_little_too_early_does_not_wait() {
    let found = |grace| {
        let mut machine = looking(6_000.0);
        machine.latency.looks.as_mut().expect("it looks").grace = exactly(grace);
        let timeline = run(vec![launch(0, 2_000), copy_out(0, PINNED, 500)], &machine);
        (spans(&timeline, Lane::Kernels)[0].1, spans(&timeline, Lane::CopyOut)[0].0)
    };
    // The copy arrives at 8500, the kernel ends at 9000.
    assert_eq!(found(500.0), (9_000, 9_000));
    assert_eq!(found(499.0), (9_000, look(8_500)));
}

/// What is known of a copy behind a kernel is known of pinned memory and of one stream, and of
/// no other pair.
#[test]
fn how_little_depends_on_what_it_is_and_what_it_follows() {
    let found = |from, body| {
        let mut machine = looking(6_000.0);
        let looks = machine.latency.looks.as_mut().expect("it looks");
        let (time, grace) = (exactly(0.0), Some(exactly(500.0)));
        looks.after =
            vec![LooksAfter { from, to: OperationKind::CopyOut, time, under_way: None, grace }];
        spans(&run(body, &machine), Lane::CopyOut)[0].0
    };
    let pair = || vec![launch(0, 2_000), copy_out(0, PINNED, 500)];
    assert_eq!(found(OperationKind::Kernel, pair()), 9_000);
    assert_eq!(found(OperationKind::CopyIn, pair()), look(8_500));
    // It arrives at 8800.
    let across = vec![launch(0, 2_000), record(0, 0), wait(1, 0), copy_out(1, PINNED, 500)];
    assert_eq!(found(OperationKind::Kernel, across), look(8_800));
    // Issued too late to have the engine look.
    let staged = vec![compute(10_000), copy_out(2, PAGEABLE, 60_000)];
    assert_eq!(found(OperationKind::Kernel, [pair(), staged].concat()), look(8_500));
}

#[test]
fn an_engine_looks_when_work_arrives_for_it() {
    assert_eq!(dispatched(vec![]), look(7_000) + 1_000);
    // Issued at 7000 in another stream, it arrives at 11000.
    assert_eq!(dispatched(vec![compute(1_000), launch(1, 10)]), 12_000);
    // It makes no difference to another engine.
    assert_eq!(dispatched(vec![compute(1_000), copy_out(1, PINNED, 10)]), look(7_000) + 1_000);
}

/// For copies out it takes 600 to be back at what waits.
#[test]
fn an_engine_is_back_at_what_waits_a_while_after_other_work_came() {
    // A kernel ends at 7000 and 1 an element; the copy behind it arrives at 8500. Another copy
    // arrives at 12000 and has to wait itself; its doorbell rings at 10700.
    let found = |elements: u64| {
        let body = vec![
            launch(0, elements),
            copy_out(0, PINNED, 500),
            launch(1, 4_000),
            copy_out(1, PINNED, 500),
        ];
        let timeline = run(body, &looking(6_000.0));
        let first = timeline.lane(Lane::CopyOut).find(|activity| activity.call == 1);
        first.expect("it ran").start.since_start().nanos()
    };
    assert_eq!(found(3_600), 10_700);
    assert_eq!([3_750, 5_000, 5_500].map(found), [12_000 + 600; 3]);
    assert!(found(5_650) > 12_000 + 600);
}

/// 1300 before the commands arrive.
#[test]
fn what_is_ready_as_a_doorbell_rings_does_not_wait_for_the_commands() {
    // Issued at 8000 in another stream, at 8200 in its own: it rings at 10700 and at 10900.
    assert_eq!(dispatched(vec![compute(2_000), launch(1, 10)]), 10_700 + 1_000);
    assert_eq!(dispatched(vec![compute(2_200), launch(0, 10)]), 10_900 + 1_000);
}

/// Where it lies behind what waits, in the same stream.
#[test]
fn a_doorbell_starts_the_period_anew_in_the_first_half_of_a_tick() {
    // It rings at 9500, 125 behind an edge: the eighth edge counts from there. Its commands,
    // which arrive at 10800, are not looked at.
    assert_eq!(dispatched(vec![compute(800), launch(0, 10)]), look(9_500 - 375) + 1_000);
    // It rings at 9750, 375 behind an edge: too late.
    assert_eq!(dispatched(vec![compute(1_050), launch(0, 10)]), look(7_000) + 1_000);
}

#[test]
fn a_look_that_finds_nothing_starts_the_period_anew() {
    // Issued at 5000, the other kernel arrives at 9000, and looks count from there, whatever
    // becomes of it.
    assert_eq!(dispatched(vec![launch(1, 10)]), look(9_000) + 1_000);
    assert_eq!(dispatched(vec![launch(1, 4_000)]), look(9_000) + 1_000);
}

/// When the kernel behind a copy from 6000 to 12000 is dispatched, after another one that
/// begins at 7000 in another stream. It arrives at 9000.
fn dispatched_behind(elements: u64) -> u64 {
    let body = vec![launch(1, elements), copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    spans(&run(body, &looking(6_000.0)), Lane::Kernels)[1].0
}

#[test]
fn an_engine_that_is_done_does_not_look_for_others() {
    // At 14000, that is: looks count from 9000.
    assert_eq!(dispatched_behind(7_000), look(9_000) + 1_000);
}

#[test]
fn what_an_engine_has_done_starts_the_period_anew() {
    // At 11000.
    assert_eq!(dispatched_behind(4_000), look(11_000) + 1_000);
}

/// What graphs are made of arrives with their launch.
#[test]
fn nodes_of_a_graph_look_for_themselves() {
    let chain = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    let replay = |calls: Vec<Call>| {
        std::iter::once(Call::Replay { stream: StreamId(0), calls: calls.len() }).chain(calls)
    };
    let alone: Vec<Call> = replay(chain.clone()).collect();
    // The copy ends at 12050. The kernel, issued at 2600, arrives 4500 later: at 7100.
    let kernels = |body| spans(&run(body, &looking(6_000.0)), Lane::Kernels);
    assert_eq!(kernels(alone)[0].0, look(7_100) + 1_000);
    let mut later = looking(6_000.0);
    let (from, to) = (OperationKind::CopyIn, OperationKind::Kernel);
    let later_by =
        |ns| vec![LooksAfter { from, to, time: exactly(ns), under_way: None, grace: None }];
    let looks = later.latency.looks.as_mut().expect("it looks");
    (looks.after, looks.in_graphs) = (later_by(3_000.0), later_by(700.0));
    let found = spans(&run(replay(chain.clone()).collect(), &later), Lane::Kernels)[0].0;
    assert_eq!(found, look(7_100 + 700) + 1_000);
    // A second copy and its kernel change nothing for the first.
    let twice: Vec<Call> = replay([chain.clone(), chain].concat()).collect();
    assert_eq!(kernels(twice)[0].0, look(7_100) + 1_000);
}

/// What was measured of a copy out and what is behind it was measured where a graph begins so.
#[test]
fn a_copy_out_in_the_middle_of_a_graph_is_no_beginning() {
    let ends = |calls: &[Call], behind_copy_out| {
        let mut machine = looking(6_000.0);
        let to = OperationKind::CopyIn;
        let after =
            |from, ns| LooksAfter { from, to, time: exactly(ns), under_way: None, grace: None };
        let (out, kernel) = (OperationKind::CopyOut, OperationKind::Kernel);
        let looks = machine.latency.looks.as_mut().expect("it looks");
        looks.in_graphs = vec![after(out, behind_copy_out), after(kernel, 700.0)];
        let replay = Call::Replay { stream: StreamId(0), calls: calls.len() };
        let body = std::iter::once(replay).chain(calls.iter().cloned()).collect();
        spans(&run(body, &machine), Lane::CopyIn).last().expect("it copies").1
    };
    let calls = [copy_in(0, PINNED, 10), copy_out(0, PINNED, 9_000), copy_in(0, PINNED, 10)];
    assert_eq!(ends(&calls, 3_000.0), ends(&calls, 700.0));
    assert!(ends(&calls[1..], 3_000.0) > ends(&calls[1..], 700.0) + 1_500);
}

/// Its branches come part by part while it is launched, 3000 for each.
#[test]
fn a_branch_of_a_graph_has_an_engine_look_for_others() {
    let mut machine = looking(6_000.0);
    let launch_of = machine.graph.launch.as_mut().expect("known");
    launch_of.per_node = exactly(3_000.0);
    let kernel = |calls: &[Call]| {
        let replay = Call::Replay { stream: StreamId(0), calls: calls.len() };
        let body = std::iter::once(replay).chain(calls.iter().cloned()).collect();
        spans(&run(body, &machine), Lane::Kernels)[0].0
    };
    let branches = [
        copy_in(0, PINNED, 5_000),
        launch(0, 4_000),
        record(0, 0),
        wait(1, 0),
        launch(1, 100),
        record(1, 1),
        wait(0, 1),
    ];
    // The copy ends at 15050; the kernel arrives at 13000, and the one that follows it in
    // another branch at 16000.
    assert_eq!(kernel(&branches[..2]), look(13_000) + 1_000);
    assert_eq!(kernel(&branches), 16_000 + 1_000);
}

#[test]
fn an_engine_looks_at_what_is_next_in_a_stream_while_it_is_busy_with_what_is_before() {
    // The second copy arrives at 7300 and has to wait for a kernel that ends at 11000.
    let copies = |elements| {
        let body = vec![
            launch(1, 4_000),
            record(1, 0),
            copy_in(0, PINNED, elements),
            wait(0, 0),
            copy_in(0, PINNED, 5_000),
        ];
        let copies = spans(&run(body, &looking(6_000.0)), Lane::CopyIn);
        (copies[0].1, copies[1].0)
    };
    // A look at 13125 has found the way clear before the first copy ends.
    assert_eq!(copies(20_000), (27_100, 27_100));
    assert_eq!(copies(9_000), (16_100, 16_100));
    // Or not.
    assert_eq!(copies(5_000), (12_100, look(7_300)));
}

#[test]
fn copies_that_are_under_way_put_off_looks() {
    use OperationKind::{CopyIn, CopyOut, Kernel};
    let mut machine = looking(6_000.0);
    let after = |from, time| {
        let time = exactly(time);
        LooksAfter { from, to: Kernel, time, under_way: None, grace: None }
    };
    machine.latency.looks.as_mut().expect("it looks").after =
        vec![after(CopyIn, 2_500.0), after(CopyOut, 700.0)];
    // When the kernel is dispatched that arrives at 8800 and has to wait for a copy from the
    // device, which is under way from 7500 on.
    let found = |elements| {
        let body = vec![
            copy_in(2, PINNED, elements),
            copy_out(1, PINNED, 3_000),
            record(1, 0),
            wait(0, 0),
            launch(0, 1_000),
        ];
        spans(&run(body, &machine), Lane::Kernels)[0].0 - 1_000
    };
    // The copy to the device is over by then.
    assert_eq!(found(500), look(8_800 + 700));
    assert_eq!(found(20_000), look(8_800 + 2_500));
}
