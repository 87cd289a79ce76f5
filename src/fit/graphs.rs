//! Costs of graphs: latencies, hand-overs and gaps of their nodes, and the host's calls.

use super::chains::{kind, mean_hop, service};
use super::device;
use super::lookup::Lookup;
use super::trips;
use crate::machine::Direction;
use crate::profile::{
    CallCosts, CopyModel, Estimate, GraphCosts, KernelModel, NodeHandOver, PerNode,
};
use crate::samples::{GraphCall, Link, Quantity, ROTATED_IN_GRAPH, ROWS};
use crate::stats::{Line, theil_sen};

pub(super) fn graph_costs(
    lookup: &Lookup<'_>,
    calls: &CallCosts,
    (copies, kernels): (&[CopyModel], &[KernelModel]),
) -> GraphCosts {
    let launch = call(lookup, GraphCall::Launch);
    let chain = Quantity::GraphChain { links: vec![Link::Kernel] };
    let kernel_gap = lookup.estimate_of(&chain);
    let start = |link| {
        let service = |size| device::first_of_trip((copies, kernels), (link, size));
        trips::start(lookup, (link, true), service, calls.synchronize)
    };
    // In a chain of nodes, a kernel's service time includes the gap before a graph's kernel.
    let services = Link::OF_ONE_DEVICE.map(|link| match link {
        Link::Kernel => kernel_gap,
        Link::CopyIn | Link::CopyOut | Link::PeerCopy => service(lookup, link),
    });
    let hop = mean_hop(lookup, services, |links| Quantity::GraphChain { links });
    let nodes = Link::OF_ONE_DEVICE;
    let pairs = nodes.into_iter().flat_map(|from| nodes.map(|to| (from, to)));
    // All nodes of a graph reach the device together, so there is no first one that pays more: one
    // mean hand-over serves every pair.
    let hand_overs = pairs
        .filter(|(from, to)| from != to)
        .filter_map(|(from, to)| Some(NodeHandOver { from: kind(from), to: kind(to), time: hop? }));
    let switch = |direction| {
        let (bytes, _) = ROTATED_IN_GRAPH;
        let copy = device::time_beside_kernels(lookup, copies, (direction, bytes));
        device::switch(lookup, direction, (bytes, true), |_, _| copy)
    };
    let [one, two, one_waits, two_wait, one_awaited] = ROWS.map(|(kernels, waits, awaited)| {
        lookup.estimate_of(&Quantity::GraphRows { kernels, waits, awaited })
    });
    let longer =
        |with: Option<Estimate>, without: Option<f64>| device::clearly_longer(with?, without?);
    // The first kernel of a row that waits also pays for the wait, which is not part of the gap.
    let first = one_waits.zip(one).map(|(waits, one)| waits.ns - one.ns);
    let behind_waiting = first.zip(two).map(|(first, two)| two.ns + first);
    GraphCosts {
        gap_behind_waiting: longer(two_wait, behind_waiting),
        gap_behind_awaited: longer(one_awaited, one.map(|one| one.ns)),
        capture: call(lookup, GraphCall::Capture),
        instantiate: call(lookup, GraphCall::Instantiate),
        start_kernel: start(Link::Kernel),
        start_copy_in: start(Link::CopyIn),
        start_copy_out: start(Link::CopyOut),
        hand_overs: hand_overs.collect(),
        down_switch: switch(Direction::HostToDevice),
        up_switch: switch(Direction::DeviceToHost),
        kernel_gap,
        launch,
    }
}

/// A straight line over the number of nodes: a part for each graph and a part for each node.
fn call(lookup: &Lookup<'_>, wanted: GraphCall) -> Option<PerNode> {
    let (points, scatter) = lookup.points(|quantity| match *quantity {
        Quantity::GraphCall { call, nodes } if call == wanted => Some(nodes),
        _ => None,
    })?;
    let Line { intercept, slope } = theil_sen(&points)?;
    let estimate = |ns: f64| Estimate::new(ns.max(0.0), scatter);
    Some(PerNode { per_graph: estimate(intercept), per_node: estimate(slope) })
}
