//! A graph is one launch to the host and one item to its stream. Inside it, only what depends on
//! something waits for it.

use super::*;
use crate::machines::{machine, wide_machine};
use hallway::cost::setup_time;
use hallway::profile::{Curve, GraphCosts, Refetch};

/// A copy in, and a call of stream 1 that depends on nothing but the start of the graph.
fn copy_in_beside(other: Call) -> Vec<Call> {
    vec![record(0, 0), wait(1, 0), copy_in(0, PINNED, 5_000), other, record(1, 1), wait(0, 1)]
}

fn two_branches() -> Vec<Call> {
    copy_in_beside(copy_out(1, PINNED, 5_000))
}

#[test]
fn the_host_pays_a_launch_for_each_graph_and_a_little_for_each_node() {
    let host = |calls| spans(&run(graph(calls), &machine()), Lane::Host);
    assert_eq!(host(vec![copy_out(0, PINNED, 10); 20]), [(0, 2_500 + 20 * 50)]);
    // Records and waits are not nodes.
    assert_eq!(host(two_branches()), [(0, 2_500 + 2 * 50)]);
}

#[test]
fn kernels_right_behind_each_other_are_launched_as_one() {
    let host = |calls| spans(&run(graph(calls), &machine()), Lane::Host);
    assert_eq!(host(vec![launch(0, 10); 20]), [(0, 2_500 + 50)]);
    // Kernels stay together if others wait for one of them, but not if one of them has to follow
    // something else.
    let watched = vec![launch(0, 10), record(0, 0), launch(0, 10)];
    assert_eq!(host(watched), [(0, 2_500 + 50)]);
    let parted = vec![launch(0, 10), copy_out(0, PINNED, 10), launch(0, 10)];
    assert_eq!(host(parted), [(0, 2_500 + 3 * 50)]);
}

#[test]
fn going_to_another_branch_takes_an_engine_a_while_of_its_own() {
    let copies = |in_streams: f64, in_graphs: Option<f64>| {
        let mut machine = machine();
        let switch = |ns| Curve { knots: vec![(1.0, 0.0), (2.0, ns)], scatter: 0.0 };
        machine.link.down_switch = Some(switch(in_streams));
        machine.graph.down_switch = in_graphs.map(switch);
        let body = copy_in_beside(copy_in(1, PINNED, 5_000));
        [body.clone(), graph(body)].map(|body| spans(&run(body, &machine), Lane::CopyIn)[1])
    };
    // Each copy takes 1000 + 5000, and the second also the time of a change. The first starts at
    // 4300, and in the graph at 6050.
    assert_eq!(copies(700.0, Some(200.0)), [(10_300, 17_000), (12_050, 18_250)]);
    // If the change was not measured in graphs, it takes as long as between streams.
    assert_eq!(copies(700.0, None)[1], (12_050, 18_750));
}

#[test]
fn a_small_copy_that_depends_on_nothing_goes_along_with_the_launch() {
    let machine = with_small_copies_inline(machine());
    let copies = |calls| {
        let timeline = run(graph(calls), &machine);
        [Lane::Host, Lane::CopyIn].map(|lane| spans(&timeline, lane))
    };
    // The copy's call takes 500 longer than other calls, so the launch does too. The copy is
    // complete 1500 after the launch. Launching a graph without nodes takes 2500, and each node
    // adds 50.
    let [host, copy] = copies(vec![copy_in(0, PINNED, 1_000)]);
    assert_eq!((host[0], copy[0]), ((0, 3_050), (3_050, 4_550)));
    // A second copy behind it goes through the engine, and so does a copy that is too large.
    let [host, copy] = copies(vec![copy_in(0, PINNED, 1_000), copy_in(0, PINNED, 1_000)]);
    assert_eq!((host[0].1, copy[1].1 - copy[1].0), (3_100, 2_000));
    let [host, _] = copies(vec![copy_in(0, PINNED, 2_000)]);
    assert_eq!(host[0].1, 2_550);
    // Each branch has a first node of its own, unless it waits for another branch.
    let [host, _] = copies(copy_in_beside(copy_in(1, PINNED, 1_000)));
    assert_eq!(host[0].1, 2_600 + 500);
    let first = [launch(0, 10), record(0, 0), wait(1, 0), copy_in(1, PINNED, 1_000)];
    let [host, _] = copies([&first[..], &[record(1, 1), wait(0, 1)]].concat());
    assert_eq!(host[0].1, 2_600);
}

#[test]
fn smaller_copies_go_along_with_the_launch_behind_other_nodes_too() {
    let mut machine = with_small_copies_inline(machine());
    let inline = machine.inline.as_mut().expect("it has some");
    inline.most_bytes_behind_nodes = Some(Bytes::kib(2));
    let copies = |calls| {
        let timeline = run(graph(calls), &machine);
        [Lane::Host, Lane::CopyIn].map(|lane| spans(&timeline, lane))
    };
    // Each copy makes the launch 500 longer, and the second is complete 1500 after the first.
    let [host, copy] = copies(vec![copy_in(0, PINNED, 1_000), copy_in(0, PINNED, 500)]);
    assert_eq!(host[0].1, 2_500 + 2 * 50 + 2 * 500);
    assert_eq!(copy[1].1 - copy[0].1, 1_500);
    let [host, _] = copies(vec![copy_in(0, PINNED, 1_000), copy_in(0, PINNED, 1_000)]);
    assert_eq!(host[0].1, 2_500 + 2 * 50 + 500);
}

/// The device gets both together, like two kernels.
#[test]
fn a_kernel_behind_a_copy_that_goes_along_has_the_gap_of_a_graph() {
    let start = |elements| {
        let machine = with_small_copies_inline(machine());
        let body = graph(vec![copy_in(0, PINNED, elements), launch(0, 4_000)]);
        kernel_start(&run(body, &machine), 2)
    };
    // The launch has come to the kernel at 2600, or at 3100 if it carries data. The kernel arrives
    // 4500 later; the small copy is done by then.
    assert_eq!(start(1_000), 3_100 + 4_500 + 800);
    // The engine's copy ends at 6050 + 11000; a hand-over takes 500.
    assert_eq!(start(10_000), 17_050 + 500 + 1_000);
}

/// A kernel takes 30 of a launch instead of 50.
#[test]
fn kernels_have_a_part_of_their_own_in_a_launch() {
    let mut machine = machine();
    machine.graph.launch_kernel = Some(exactly(30.0));
    let calls = vec![copy_in(0, PINNED, 10), launch(0, 10), copy_out(0, PINNED, 10)];
    let host = spans(&run(graph(calls), &machine), Lane::Host);
    assert_eq!(host, [(0, 2_500 + 50 + 30 + 50)]);
}

#[test]
fn kernels_that_wait_in_branches_slow_no_copy() {
    let mut machine = machine();
    let slowdown = Curve { knots: vec![(0.0, 1.0), (1.0, 1.5)], scatter: 0.0 };
    machine.link.refetches = vec![Refetch { streams: 2, slowdown }];
    let mut body = vec![copy_in(0, PINNED, 50_000), copy_in(0, PINNED, 9_000), record(0, 0)];
    for branch in [1, 2] {
        body.extend([wait(branch, 0), launch(branch, 10), record(branch, branch)]);
    }
    body.extend([wait(0, 1), wait(0, 2)]);
    let second = |body| lasts(&run(body, &machine), Lane::CopyIn)[1];
    assert_eq!([body.clone(), graph(body)].map(second), [15_000, 10_000]);
}

#[test]
fn nodes_of_a_chain_follow_each_other() {
    let mut body = there_and_back();
    body.truncate(3);
    let body = graph(body).into_iter().chain([synchronize(0)]).collect();
    let timeline = run(body, &machine());
    // The first copy is issued at 2550, while the launch still goes on, with a latency of 3500.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(6_050, 12_050)]);
    // Before the kernel come a hand-over of 500 and a gap of 1000; it takes 4000.
    assert_eq!(spans(&timeline, Lane::Kernels), [(13_550, 17_550)]);
    // Before the copy out comes a hand-over of 600.
    assert_eq!(spans(&timeline, Lane::CopyOut), [(18_150, 24_150)]);
    assert_eq!(spans(&timeline, Lane::Host), [(0, 2_650), (2_650, 24_150 + 6_000)]);
}

#[test]
fn kernels_of_a_chain_have_a_gap_of_their_own_in_a_graph() {
    let ends = |body, lane| {
        let spans = spans(&run(body, &machine()), lane);
        spans[1].0 - spans[0].1
    };
    let copies = || vec![copy_in(0, PINNED, 5_000); 2];
    assert_eq!([copies(), graph(copies())].map(|body| ends(body, Lane::CopyIn)), [0, 0]);
    let kernels = || vec![launch(0, 4_000); 2];
    assert_eq!([kernels(), graph(kernels())].map(|body| ends(body, Lane::Kernels)), [1_000, 800]);
}

#[test]
fn nodes_that_do_not_depend_on_each_other_run_at_once() {
    let timeline = run(graph(two_branches()), &wide_machine());
    // The copies are issued at 2550 and 2600, with latencies of 3500 and 5500.
    assert_eq!(spans(&timeline, Lane::CopyIn), [(6_050, 12_050)]);
    assert_eq!(spans(&timeline, Lane::CopyOut), [(8_100, 14_100)]);
    let chain = graph(vec![copy_in(0, PINNED, 5_000), copy_out(0, PINNED, 5_000)]);
    assert_eq!(spans(&run(chain, &wide_machine()), Lane::CopyOut), [(12_050, 18_050)]);
}

#[test]
fn what_follows_in_the_stream_waits_for_the_whole_graph() {
    let mut body = graph(two_branches());
    // The first launch goes to the stream of the graph, the second to a stream that was captured.
    body.extend([launch(0, 1_000), launch(1, 1_000)]);
    let timeline = simulate(&tiny(body), &wide_machine()).expect("known");
    // It follows the copy out, which ends at 14100, and a gap.
    assert_eq!(kernel_start(&timeline, 7), 15_100);
    // It is issued at 2600 + 4000, with a latency of 4000 and a gap of 1000: a branch of
    // the graph is not the stream that it was captured from.
    assert_eq!(kernel_start(&timeline, 8), 11_600);
}

#[test]
fn a_synchronisation_of_a_captured_stream_waits_for_no_graph() {
    let mut body = graph(two_branches());
    body.extend([synchronize(1), synchronize(0)]);
    let host = spans(&run(body, &wide_machine()), Lane::Host);
    assert_eq!(host, [(0, 2_600), (2_600, 2_900), (2_900, 14_100 + 6_000)]);
}

#[test]
fn the_launch_of_the_graph_is_what_its_nodes_wait_for() {
    let timeline = run(graph(vec![launch(0, 4_000)]), &machine());
    let path = timeline.critical_path();
    let calls: Vec<_> = path.segments.iter().map(|segment| segment.activity.call).collect();
    assert_eq!(calls, [0, 1]);
    assert_eq!(path.on(Lane::Host).nanos(), 2_550);
}

#[test]
fn capturing_and_instantiating_are_set_up() {
    let time = setup_time(&tiny(graph(two_branches())), &machine()).expect("known");
    assert_eq!(time.nanos(), HANDLES + (1_000 + 2 * 200) + (5_000 + 2 * 300));
}

#[test]
fn what_was_not_measured_of_graphs_is_named() {
    let unknown = |change: fn(&mut GraphCosts)| {
        let mut machine = machine();
        change(&mut machine.graph);
        let calls = vec![copy_in(0, PINNED, 5_000), launch(0, 4_000), launch(0, 4_000)];
        let calls_alone = simulate(&tiny(calls.clone()), &machine);
        calls_alone.expect("without a graph, graphs need not be known");
        simulate(&tiny(graph(calls)), &machine).expect_err("unknown").to_string()
    };
    let all = unknown(|graph| *graph = GraphCosts::default());
    assert!(all.contains("the host cost of launching a graph"), "{all}");
    let start = unknown(|graph| graph.start_copy_in = None);
    assert!(start.contains("the start latency of an H2D copy in a graph"), "{start}");
    let gap = unknown(|graph| graph.kernel_gap = None);
    assert!(gap.contains("the smallest kernel in a graph"), "{gap}");
    let hop = unknown(|graph| graph.hand_overs.clear());
    assert!(hop.contains("from an H2D copy to a kernel in a graph"), "{hop}");
    let mut machine = machine();
    machine.graph.instantiate = None;
    let set_up = setup_time(&tiny(graph(two_branches())), &machine).expect_err("unknown");
    assert!(set_up.to_string().contains("instantiating a graph"), "{set_up}");
    // A graph does not need the prices of the calls that it replaces.
    (machine.calls.launch, machine.latency.start_kernel) = (None, None);
    simulate(&tiny(graph(vec![launch(0, 4_000)])), &machine).expect("known");
}

#[test]
fn kernels_behind_those_that_met_another_branch_have_longer_gaps() {
    let mut machine = wide_machine();
    let gaps = |machine: &Profile| {
        let ins = [record(0, 0), wait(1, 0), copy_in(1, PINNED, 10), record(1, 1), wait(0, 1)];
        let outs = [record(0, 2), wait(1, 2), copy_out(1, PINNED, 10)];
        let rows = [launch(0, 4_000), launch(0, 4_000), launch(0, 4_000)];
        let ends = [launch(0, 4_000), record(1, 1), wait(0, 1)];
        let kernels =
            spans(&run(graph([&ins[..], &rows, &outs, &ends].concat()), machine), Lane::Kernels);
        [1, 2, 3].map(|at| kernels[at].0 - kernels[at - 1].1)
    };
    assert_eq!(gaps(&machine), [800; 3]);
    machine.graph.gap_behind_waiting = Some(exactly(250.0));
    machine.graph.gap_behind_awaited = Some(exactly(60.0));
    assert_eq!(gaps(&machine), [1_050, 800, 860]);
}
