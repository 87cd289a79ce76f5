//! Fits of CUDA graphs.

use super::*;
use hallway::samples::{GraphCall, LONG_COPY, ROTATED_IN_GRAPH, ROWS, TRIP_ELEMENTS, TripPart};

fn copy_out(bytes: Bytes) -> Quantity {
    Quantity::Copy { direction: Direction::DeviceToHost, bytes }
}

/// The costs of host and device come from times of whole graphs.
#[test]
fn graphs_are_taken_apart_into_launches_nodes_and_hand_overs() {
    use GraphCall::{Capture, Instantiate, Launch};
    let mut clock = Clock::new(0.02, 0.02);
    let mut all = Vec::new();
    let mut add = |quantity, count, ns| all.push(measured(quantity, count, clock.times(ns, 40)));
    // Each call takes a time for the graph, and a time for each node.
    let calls = [(Capture, 1_500.0, 900.0), (Instantiate, 6e3, 400.0), (Launch, 2_800.0, 120.0)];
    for (call, per_graph, per_node) in calls {
        for nodes in [3, 24, 96] {
            let ns = per_graph + per_node * nodes as f64;
            add(Quantity::GraphCall { call, nodes }, 1, ns);
        }
    }
    add(Quantity::Call { call: TimedCall::Synchronize }, 1, 1_200.0);
    // In a stream, operations take 2 us. A trip of an operation of 6.5 us takes 5 us more than the
    // launch, the operation and the way back.
    let variant = Variant { kernel: hallway::kernels::Kernel::Polynomial, extent: 1024 };
    for (first, what, size) in [
        (OperationKind::CopyIn, copy(LONG_COPY.get()), LONG_COPY.get()),
        (OperationKind::CopyOut, copy_out(LONG_COPY), LONG_COPY.get()),
        (OperationKind::Kernel, Quantity::Kernel { variant, elements: TRIP_ELEMENTS }, 1024),
    ] {
        add(Quantity::Chain { links: vec![first], across: false }, 1, 2_000.0);
        add(what, 1, 6_500.0);
        let trip = |part| Quantity::Trip { first, size, next: None, part, in_graph: true };
        add(trip(TripPart::FirstCall), 1, 2_800.0 + 120.0);
        add(trip(TripPart::Rest), 1, 5_000.0 + 6_500.0 + 1_200.0);
    }
    for count in [2, 26] {
        let ns = 9_000.0 + 1_300.0 * count as f64;
        add(Quantity::GraphChain { links: vec![OperationKind::Kernel] }, count, ns);
    }
    // A turn has three hand-overs of 4 us.
    for links in CYCLES {
        for count in [2, 26] {
            let ns = 9_000.0 + (5_300.0 + 12_000.0) * count as f64;
            add(Quantity::GraphChain { links: links.to_vec() }, count, ns);
        }
    }
    let profile = fitted(all);
    for (call, per_graph, per_node) in calls {
        for nodes in [1, 10, 200] {
            let found = profile.graph_call(call, nodes).expect("known").nanos_f64();
            assert_within(found, per_graph + per_node * nodes as f64, 0.05, format!("{call:?}"));
        }
    }
    assert_within(profile.node_gap().expect("known"), 1_300.0, 0.03, "the gap");
    use OperationKind::{CopyIn, CopyOut, Kernel};
    for kind in [CopyIn, CopyOut, Kernel] {
        let found = profile.node_start(kind).expect("known").nanos_f64();
        assert_within(found, 5_000.0, 0.05, "a start");
    }
    for (from, to) in [CopyIn, CopyOut, Kernel]
        .into_iter()
        .flat_map(|from| [CopyIn, CopyOut, Kernel].map(|to| (from, to)))
    {
        let found = profile.node_hand_over(from, to).expect("known");
        let truth = if from == to { 0.0 } else { 4_000.0 };
        assert!((found - truth).abs() <= 0.06 * truth, "{from:?} to {to:?}: {found} for {truth}");
    }
}

/// Copies in the branches of a graph, which the engine takes in turn.
#[test]
fn an_engine_pays_for_going_from_branch_to_branch() {
    let mut clock = Clock::new(0.005, 0.02);
    let (bytes, streams) = ROTATED_IN_GRAPH;
    let quantity =
        Quantity::Rotation { direction: Direction::HostToDevice, bytes, streams, in_graph: true };
    let mut all = vec![measured(copy(bytes.get()), 1, clock.times(6_500.0, 40))];
    for count in [2, 10] {
        let ns = 9_000.0 + (6_500.0 + 900.0) * (streams as u64 * count) as f64;
        all.push(measured(quantity.clone(), count, clock.times(ns, 40)));
    }
    let profile = fitted(all.clone());
    let switch = |direction, branches| profile.switch(direction, branches, true);
    assert_within(switch(Direction::HostToDevice, 4).expect("known"), 900.0, 0.05, "a switch");
    assert_eq!(switch(Direction::HostToDevice, 1), Ok(0.0));
    switch(Direction::DeviceToHost, 4).expect_err("measured neither here nor between streams");
    // What kernels in other branches cost does not belong to the change of branches.
    for (kernels, ns) in [(true, 7_200.0), (false, 6_500.0)] {
        let quantity =
            Quantity::CopyBesideKernels { direction: Direction::HostToDevice, bytes, kernels };
        all.push(measured(quantity, 2, clock.times(ns + 6_500.0, 41)));
    }
    let switch = fitted(all).switch(Direction::HostToDevice, 4, true).expect("known");
    assert_within(switch, 200.0, 0.2, "a switch");
}

/// Rows of kernels of 12 us. A wait costs 0.8 us, a kernel behind one that waited 0.25 us more, and
/// a kernel behind one that a copy waits for 0.06 us more.
#[test]
fn gaps_at_branches_are_taken_apart() {
    let mut clock = Clock::new(0.0005, 0.02);
    let mut all = Vec::new();
    for (kernels, waits, awaited) in ROWS {
        let wait = if waits { 800.0 + 250.0 * (kernels - 1) as f64 } else { 0.0 };
        let row = 12_000.0 * kernels as f64 + wait + if awaited { 60.0 } else { 0.0 };
        for count in [2, 26] {
            let times = clock.times(9_000.0 + row * count as f64, 60);
            all.push(measured(Quantity::GraphRows { kernels, waits, awaited }, count, times));
        }
    }
    let graph = fitted(all).graph;
    let [waiting, awaited] = [graph.gap_behind_waiting, graph.gap_behind_awaited];
    assert_within(waiting.expect("measured").ns, 250.0, 0.1, "behind one that waited");
    assert_within(awaited.expect("measured").ns, 60.0, 0.2, "behind one that is awaited");
}

/// A launch takes 0.5 us, 0.8 us more for each kernel and 1.2 us more for each copy.
#[test]
fn launches_are_taken_apart_by_what_they_launch() {
    use OperationKind::{CopyIn, CopyOut, Kernel};
    let mut clock = Clock::new(0.005, 0.02);
    let part = |node| if node == Kernel { 800.0 } else { 1_200.0 };
    let mut all = Vec::new();
    for nodes in [3, 24, 96] {
        let ns: f64 = CYCLES[0].iter().cycle().take(nodes).map(|&node| part(node)).sum();
        let call = GraphCall::Launch;
        let quantity = Quantity::GraphCall { call, nodes: nodes as u64 };
        all.push(measured(quantity, 1, clock.times(500.0 + ns, 40)));
    }
    for first in [CopyIn, CopyOut, Kernel] {
        let others = [CopyIn, CopyOut, Kernel].into_iter().filter(|&next| next != first);
        for next in std::iter::once(None).chain(others.map(Some)) {
            let ns = 500.0 + part(first) + next.map_or(0.0, part);
            let of = |part| Quantity::Trip { first, size: 65_536, next, part, in_graph: true };
            all.push(measured(of(TripPart::FirstCall), 1, clock.times(ns, 40)));
            all.push(measured(of(TripPart::Rest), 1, clock.times(9_000.0, 40)));
        }
    }
    let profile = fitted(all);
    for node in [CopyIn, CopyOut, Kernel] {
        let [besides, found] = [profile.launch_without_nodes(), profile.launch_part(node)]
            .map(|span| span.expect("known").nanos_f64());
        assert_within(besides, 500.0, 0.1, "a launch without nodes");
        assert_within(found, part(node), 0.05, format!("the part of {node:?}"));
    }
}
