//! An operation that came too early goes on when its engine polls again.

use super::*;
use crate::machines::machine;
use hallway::profile::{FirstPoll, OperationKind};

/// The machine, with engines that poll again after `period`.
fn polling_every(period: f64) -> Profile {
    let mut machine = machine();
    machine.latency.semaphore_polling = Some(semaphore_polling(period));
    machine
}

/// The poll that comes a period after `from`, for engines with a period of 6000: at the eighth edge
/// of their clock. Without random draws, the edges are at 375, 1125, 1875 and so on, and periods
/// count from the moment fitted for the average, which is half a tick early.
fn poll(from: u64) -> u64 {
    let edges = (0..).map(|edge| 375 + 750 * edge);
    edges.filter(|&edge| edge > from + 375).nth(7).expect("they go on for ever")
}

/// When the periods for a kernel behind an operation of this kind begin, after its arrival.
fn first_poll(from: OperationKind, ns: f64) -> FirstPoll {
    let (to, time) = (OperationKind::Kernel, exactly(ns));
    FirstPoll { from, to, time, under_way: None, arrival_tolerance: None }
}

/// When the first kernel is dispatched, a gap of 1000 after its engine found it. It arrives at
/// 7000, while the host goes on at 3000 with `more`; the copy that it follows ends at 10000.
fn dispatched(more: Vec<Call>) -> u64 {
    let mut body = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    body.extend(more);
    kernel_start(&run(body, &polling_every(6_000.0)), 1)
}

#[test]
fn what_comes_too_early_goes_on_after_whole_periods() {
    // The edges of the clock are at 100, 300, 500 and so on.
    let machine = polling_every(1_600.0);
    // The copy ends at 10000. The launch is issued at 4000, and one nanosecond later for each
    // element computed.
    let dispatched = |elements| {
        let body = vec![copy_in(0, PINNED, 5_000), compute(elements), launch(0, 4_000)];
        spans(&run(body, &machine), Lane::Kernels)[0].0
    };
    // The kernel arrives at 8100. Its engine polls at the eighth edge after 8200, which is at 9700,
    // and then at 11300, when it finds the kernel; then comes the gap.
    assert_eq!(dispatched(100), 12_300);
    // The kernel arrives at 8950, and the engine polls at the eighth edge after 9050.
    assert_eq!(dispatched(950), 11_500);
    // The kernel arrives at 11200 and finds the way clear.
    assert_eq!(dispatched(3_200), 12_200);
}

#[test]
fn periods_may_begin_some_time_after_the_arrival() {
    let mut machine = polling_every(6_000.0);
    let polling = machine.latency.semaphore_polling.as_mut().expect("it polls");
    polling.arrival_tolerance = exactly(2_000.0);
    polling.first_polls =
        vec![first_poll(OperationKind::CopyIn, 2_500.0), first_poll(OperationKind::CopyOut, 500.0)];
    let found = |elements| {
        let body = vec![copy_in(0, PINNED, elements), launch(0, 4_000)];
        spans(&run(body, &machine), Lane::Kernels)[0].0 - 1_000
    };
    // The kernel arrives at 7000. The copy ends at 9000, which is soon enough.
    assert_eq!(found(4_000), 9_000);
    // The copy ends at 9400, before any period has begun; the kernel goes on a period after that.
    assert_eq!(found(4_400), poll(9_400 - 375));
    // The copy ends at 10000 and at 15800, so the kernel goes on one and two periods after 9500.
    assert_eq!(found(5_000), poll(9_500));
    assert_eq!(found(10_800), poll(9_500) + 6_000);
}

#[test]
fn what_comes_a_little_too_early_does_not_wait() {
    let found = |tolerance| {
        let mut machine = polling_every(6_000.0);
        machine.latency.semaphore_polling.as_mut().expect("it polls").arrival_tolerance =
            exactly(tolerance);
        let timeline = run(vec![launch(0, 2_000), copy_out(0, PINNED, 500)], &machine);
        (spans(&timeline, Lane::Kernels)[0].1, spans(&timeline, Lane::CopyOut)[0].0)
    };
    // The copy arrives at 8500, and the kernel ends at 9000.
    assert_eq!(found(500.0), (9_000, 9_000));
    assert_eq!(found(499.0), (9_000, poll(8_500)));
}

#[test]
fn an_engine_polls_when_work_arrives_for_it() {
    assert_eq!(dispatched(vec![]), poll(7_000) + 1_000);
    // The other kernel is issued at 7000 in another stream and arrives at 11000.
    assert_eq!(dispatched(vec![compute(1_000), launch(1, 10)]), 12_000);
    // A copy arrives at another engine, and so makes no difference.
    assert_eq!(dispatched(vec![compute(1_000), copy_out(1, PINNED, 10)]), poll(7_000) + 1_000);
}

/// A doorbell rings 1300 before its commands arrive.
#[test]
fn what_is_ready_as_a_doorbell_rings_does_not_wait_for_the_commands() {
    // The other kernel is issued at 8000 in another stream, or at 8200 in the same one. Its
    // doorbell rings at 10700 or at 10900.
    assert_eq!(dispatched(vec![compute(2_000), launch(1, 10)]), 10_700 + 1_000);
    assert_eq!(dispatched(vec![compute(2_200), launch(0, 10)]), 10_900 + 1_000);
}

/// The new kernel lies behind the waiting one, in the same stream.
#[test]
fn a_doorbell_restarts_the_period_in_the_first_half_of_a_tick() {
    // The doorbell rings at 9500, 125 after an edge, so the eighth edge counts from there. Its
    // commands, which arrive at 10800, are not polled for.
    assert_eq!(dispatched(vec![compute(800), launch(0, 10)]), poll(9_500 - 375) + 1_000);
    // The doorbell rings at 9750, 375 after an edge, which is too late.
    assert_eq!(dispatched(vec![compute(1_050), launch(0, 10)]), poll(7_000) + 1_000);
}

#[test]
fn a_poll_that_finds_nothing_restarts_the_period() {
    // The other kernel is issued at 5000 and arrives at 9000. Periods count from there, whatever
    // becomes of it.
    assert_eq!(dispatched(vec![launch(1, 10)]), poll(9_000) + 1_000);
    assert_eq!(dispatched(vec![launch(1, 4_000)]), poll(9_000) + 1_000);
}

/// When the kernel behind a copy from 6000 to 12000 is dispatched. It arrives at 9000. Another
/// kernel, of `elements`, begins at 7000 in another stream.
fn dispatched_behind(elements: u64) -> u64 {
    let body = vec![launch(1, elements), copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    spans(&run(body, &polling_every(6_000.0)), Lane::Kernels)[1].0
}

#[test]
fn the_end_of_an_operation_makes_no_engine_poll() {
    // The other kernel ends at 14000, so periods count from 9000.
    assert_eq!(dispatched_behind(7_000), poll(9_000) + 1_000);
}

#[test]
fn the_end_of_an_operation_restarts_the_period() {
    // The other kernel ends at 11000.
    assert_eq!(dispatched_behind(4_000), poll(11_000) + 1_000);
}

/// The nodes of a graph arrive with its launch.
#[test]
fn nodes_of_a_graph_are_polled_for_at_times_of_their_own() {
    let chain = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000)];
    // The copy ends at 12050. The kernel is issued at 2600 and arrives 4500 later, at 7100.
    let kernels = |body| spans(&run(body, &polling_every(6_000.0)), Lane::Kernels);
    assert_eq!(kernels(graph(chain.clone()))[0].0, poll(7_100) + 1_000);
    let mut later = polling_every(6_000.0);
    let later_by = |ns| vec![first_poll(OperationKind::CopyIn, ns)];
    let polling = later.latency.semaphore_polling.as_mut().expect("it polls");
    (polling.first_polls, polling.first_polls_in_graphs) = (later_by(3_000.0), later_by(700.0));
    let found = spans(&run(graph(chain.clone()), &later), Lane::Kernels)[0].0;
    assert_eq!(found, poll(7_100 + 700) + 1_000);
    // A kernel that comes up to 5000 too early goes on at once.
    let mut tolerant = polling_every(6_000.0);
    let polling = tolerant.latency.semaphore_polling.as_mut().expect("it polls");
    let tolerance = Some(exactly(5_000.0));
    let pair = FirstPoll { arrival_tolerance: tolerance, ..first_poll(OperationKind::CopyIn, 0.0) };
    polling.first_polls_in_graphs = vec![pair];
    let found = spans(&run(graph(chain.clone()), &tolerant), Lane::Kernels)[0].0;
    assert_eq!(found, 12_050 + 1_000);
    // A second copy and its kernel change nothing for the first.
    let twice = [chain.clone(), chain].concat();
    assert_eq!(kernels(graph(twice))[0].0, poll(7_100) + 1_000);
}

#[test]
fn a_busy_engine_already_polls_for_the_next_operation_of_the_stream() {
    // The second copy arrives at 7300 and has to wait for a kernel that ends at 11000.
    let copies = |elements| {
        let body = vec![
            launch(1, 4_000),
            record(1, 0),
            copy_in(0, PINNED, elements),
            wait(0, 0),
            copy_in(0, PINNED, 5_000),
        ];
        let copies = spans(&run(body, &polling_every(6_000.0)), Lane::CopyIn);
        (copies[0].1, copies[1].0)
    };
    // A poll at 13125 finds the way clear before the first copy ends.
    assert_eq!(copies(20_000), (27_100, 27_100));
    assert_eq!(copies(9_000), (16_100, 16_100));
    // Here the first copy ends before that poll.
    assert_eq!(copies(5_000), (12_100, poll(7_300)));
}

#[test]
fn copies_under_way_delay_polls() {
    use OperationKind::{CopyIn, CopyOut};
    let mut machine = polling_every(6_000.0);
    machine.latency.semaphore_polling.as_mut().expect("it polls").first_polls =
        vec![first_poll(CopyIn, 2_500.0), first_poll(CopyOut, 700.0)];
    // Returns when the engine finds the kernel. It arrives at 8800 and has to wait for a copy from
    // the device that is under way from 7500 on.
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
    assert_eq!(found(500), poll(8_800 + 700));
    assert_eq!(found(20_000), poll(8_800 + 2_500));
}
