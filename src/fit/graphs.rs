//! Costs of graphs: latencies, hand-overs and gaps of their nodes, and the host's calls.

use super::chains::{mean_hop, service};
use super::estimator::{Estimator, sized};
use super::{contention, copies as pinned, round_trips};
use crate::machine::{Direction, OperationKind};
use crate::profile::{
    CallCosts, CopyModel, Estimate, GraphCosts, KernelModel, NodeHandOver, PerNode,
};
use crate::samples::{CYCLES, GraphCall, Quantity, ROTATED_IN_GRAPH, ROWS, SHORT_COPY, TripPart};
use crate::stats::{Line, median, theil_sen};

pub(super) fn graph_costs(
    estimator: &Estimator<'_>,
    calls: &CallCosts,
    (copies, kernels): (&[CopyModel], &[KernelModel]),
) -> GraphCosts {
    let (launch, launch_kernel) = launch(estimator);
    let chain = Quantity::GraphChain { links: vec![OperationKind::Kernel] };
    let kernel_gap = estimator.estimate_of(&chain);
    let start = |link| {
        let service_of = |size| round_trips::first_of_trip((copies, kernels), (link, size));
        let by_parts = round_trips::start(estimator, (link, true), service_of, calls.synchronize);
        by_parts.or_else(|| {
            let trip = estimator.estimate_of(&Quantity::Node { after: None, of: link })?;
            let launch = launch.as_ref()?;
            // A table times the way with a kernel that does next to nothing, or a copy of 4 KiB.
            let node = match link {
                OperationKind::Kernel => service(estimator, link)?.ns,
                _ => round_trips::first_of_trip((copies, &[]), (link, SHORT_COPY.get()))?,
            };
            let others = launch.per_graph.ns + launch.per_node.ns + calls.synchronize?.ns;
            Some(trip.without(others + node))
        })
    };
    // In a chain of nodes, a kernel's service time includes the gap before a graph's kernel.
    let services = OperationKind::OF_ONE_DEVICE.map(|link| match link {
        OperationKind::Kernel => kernel_gap,
        OperationKind::CopyIn | OperationKind::CopyOut | OperationKind::PeerCopy => {
            service(estimator, link)
        }
    });
    let hop = mean_hop(estimator, services, |links| Quantity::GraphChain { links });
    let nodes = OperationKind::OF_ONE_DEVICE;
    let pairs = nodes.into_iter().flat_map(|from| nodes.map(|to| (from, to)));
    // All nodes of a graph reach the device together, so there is no first one that pays more: one
    // mean hand-over serves every pair.
    let hand_overs = pairs.filter(|(from, to)| from != to).filter_map(|(from, to)| {
        let of_pair = Quantity::Node { after: Some(from), of: to };
        let time = hop.or_else(|| estimator.estimate_of(&of_pair))?;
        Some(NodeHandOver { from, to, time })
    });
    let switch = |direction| {
        let (usual, _) = ROTATED_IN_GRAPH;
        let bytes = pinned::rotated(estimator, direction, true).unwrap_or(usual);
        let copy = contention::time_beside_kernels(estimator, copies, (direction, bytes));
        pinned::switch(estimator, direction, (bytes, true), |_, _| copy)
    };
    let [one, two, one_waits, two_wait, one_awaited] = ROWS.map(|(kernels, waits, awaited)| {
        estimator.estimate_of(&Quantity::GraphRows { kernels, waits, awaited })
    });
    let longer = |with: Option<Estimate>, without: Option<f64>| Some(with?.without(without?));
    // The first kernel of a row that waits also pays for the wait, which is not part of the gap.
    let first = one_waits.zip(one).map(|(waits, one)| waits.ns - one.ns);
    let behind_waiting = first.zip(two).map(|(first, two)| two.ns + first);
    GraphCosts {
        gap_behind_waiting: longer(two_wait, behind_waiting),
        gap_behind_awaited: longer(one_awaited, one.map(|one| one.ns)),
        capture: call(estimator, GraphCall::Capture),
        instantiate: call(estimator, GraphCall::Instantiate),
        start_kernel: start(OperationKind::Kernel),
        start_copy_in: start(OperationKind::CopyIn),
        start_copy_out: start(OperationKind::CopyOut),
        hand_overs: hand_overs.collect(),
        down_switch: switch(Direction::HostToDevice),
        up_switch: switch(Direction::DeviceToHost),
        kernel_gap,
        launch,
        launch_kernel,
    }
}

/// What a launch takes, and the part of a kernel in it. Graphs of one and of two nodes tell copies
/// and kernels apart, and what a launch takes besides; long graphs show what their nodes take
/// together. Without the small graphs, all nodes take the same.
fn launch(estimator: &Estimator<'_>) -> (Option<PerNode>, Option<Estimate>) {
    let all = call(estimator, GraphCall::Launch);
    let told_apart = all.as_ref().and_then(|all| {
        let nodes = OperationKind::OF_ONE_DEVICE;
        let small = |first, next| {
            let calls =
                round_trips::sizes(estimator, (first, true)).into_iter().filter_map(|size| {
                    let first = (first, size);
                    Some(round_trips::part(estimator, first, next, (TripPart::FirstCall, true))?.ns)
                });
            median(&calls.collect::<Vec<f64>>())
        };
        let [copy_in, copy_out, kernel] = nodes.map(|node| small(node, None));
        let more = f64::midpoint(copy_in?, copy_out?) - kernel?;
        let kernels = CYCLES[0].iter().filter(|&&node| node == OperationKind::Kernel).count();
        let share_of_kernels = kernels as f64 / CYCLES[0].len() as f64;
        let copy = all.per_node.ns + more * share_of_kernels;
        let part = |node| if node == OperationKind::Kernel { copy - more } else { copy };
        let ones = nodes.into_iter().map(|node| Some(small(node, None)? - part(node)));
        let pairs = nodes.into_iter().flat_map(|first| nodes.map(|next| (first, next)));
        let twos = pairs.filter_map(|(first, next)| {
            Some(Some(small(first, Some(next))? - part(first) - part(next)))
        });
        let besides = ones.chain(twos).collect::<Option<Vec<f64>>>()?;
        let estimate = |ns: f64| Estimate::new(ns.max(0.0), all.per_node.scatter);
        let per_graph = estimate(median(&besides)?);
        let launch = PerNode { per_graph, per_node: estimate(copy) };
        Some((launch, estimate(part(OperationKind::Kernel))))
    });
    match told_apart {
        Some((launch, of_kernel)) => (Some(launch), Some(of_kernel)),
        None => (all, None),
    }
}

/// A straight line over the number of nodes: a part for each graph and a part for each node.
fn call(estimator: &Estimator<'_>, call: GraphCall) -> Option<PerNode> {
    let (points, scatter) = estimator.points(sized(|nodes| Quantity::GraphCall { call, nodes }))?;
    let Line { intercept, slope } = theil_sen(&points)?;
    let estimate = |ns: f64| Estimate::new(ns.max(0.0), scatter);
    Some(PerNode { per_graph: estimate(intercept), per_node: estimate(slope) })
}
