//! What CUDA graphs cost.

use super::prices::priced;
use super::unknown::{Known, Unknown, known};
use super::{Curve, Estimate, OperationKind, Profile};
use crate::samples::GraphCall;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Costs of CUDA graphs: what the host pays for a graph instead of for each call, and how nodes
/// differ on the device from operations in streams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphCosts {
    pub capture: Option<PerNode>,
    pub instantiate: Option<PerNode>,
    pub launch: Option<PerNode>,
    /// The part of a kernel in a launch, where it was told apart; `launch.per_node` is then that of
    /// a copy.
    pub launch_kernel: Option<Estimate>,
    /// From the return of a launch on an idle device to the start of a node that
    /// depends on no other.
    pub start_kernel: Option<Estimate>,
    pub start_copy_in: Option<Estimate>,
    pub start_copy_out: Option<Estimate>,
    /// Device time of the smallest kernel when many run back to back in a graph: what a node costs
    /// the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// How much longer `kernel_gap` is right behind a kernel that had to wait for another branch.
    pub gap_behind_waiting: Option<Estimate>,
    /// How much longer `kernel_gap` is right behind a kernel that another branch waits for.
    pub gap_behind_awaited: Option<Estimate>,
    #[serde(default, rename = "handover")]
    pub hand_overs: Vec<NodeHandOver>,
    /// Nanoseconds that the H2D copy engine idles when it switches branches, over the number of
    /// branches that keep it busy. `up_switch` is the D2H engine's.
    pub down_switch: Option<Curve>,
    pub up_switch: Option<Curve>,
}

/// Host time of a call about a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerNode {
    /// The part that does not depend on the number of nodes.
    pub per_graph: Estimate,
    /// The part for each node that the launch does not send along with the node before it.
    pub per_node: Estimate,
}

/// Time from the end of a node to the start of one that depends on it, beyond the gap between
/// neighbours on one engine in one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeHandOver {
    pub from: OperationKind,
    pub to: OperationKind,
    pub time: Estimate,
}

priced! {
    GraphCosts {
        Usual: capture, instantiate, launch, launch_kernel, start_kernel, start_copy_in,
            start_copy_out, kernel_gap, gap_behind_waiting, gap_behind_awaited,
            hand_overs as "handover";
        No: down_switch, up_switch;
    }
}

priced! {
    PerNode { Usual: per_graph, per_node; }
}

priced! {
    NodeHandOver { Usual: time; }
    besides from, to
}

impl GraphCosts {
    /// A node's part of a launch, by its kind.
    pub fn launch_part(&self, kind: OperationKind) -> Option<Estimate> {
        let of_kernel = self.launch_kernel.filter(|_| kind == OperationKind::Kernel);
        of_kernel.or(self.launch.as_ref().map(|launch| launch.per_node))
    }
}

impl Profile {
    /// Host time of a call on a graph with this many nodes.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn graph_call(&self, call: GraphCall, nodes: usize) -> Known<Span> {
        let graph = &self.graph;
        let cost = match call {
            GraphCall::Capture => &graph.capture,
            GraphCall::Instantiate => &graph.instantiate,
            GraphCall::Launch => &graph.launch,
        };
        let unknown = || Unknown::new(format!("the host cost of {} a graph", call.name()));
        let PerNode { per_graph, per_node } = cost.as_ref().ok_or_else(unknown)?;
        Ok(Span::from_nanos_f64((per_graph.ns + per_node.ns * nodes as f64).max(0.0)))
    }

    /// Host time of a graph's launch without its nodes.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn launch_without_nodes(&self) -> Known<Span> {
        let launch = self.graph.launch.as_ref().map(|launch| launch.per_graph);
        known(&launch, || "the host cost of launching a graph".to_owned())
    }

    /// How much longer a graph's launch takes for a node of a kind that is not sent along with the
    /// node before it.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn launch_part(&self, kind: OperationKind) -> Known<Span> {
        let part = self.graph.launch_part(kind);
        known(&part, || "the host cost of launching a graph".to_owned())
    }

    /// From the return of a graph's launch on an idle device to the start of a node
    /// that depends on no other.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_start(&self, kind: OperationKind) -> Known<Span> {
        let latency = match kind {
            OperationKind::CopyIn => &self.graph.start_copy_in,
            OperationKind::CopyOut => &self.graph.start_copy_out,
            OperationKind::Kernel => &self.graph.start_kernel,
            OperationKind::PeerCopy => &None,
        };
        known(latency, || format!("the start latency of {} in a graph", kind.name()))
    }

    /// Nanoseconds that the smallest kernel takes on the device when many run back to back in a
    /// graph.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_gap(&self) -> Known<f64> {
        let gap = self.graph.kernel_gap.as_ref().map(|gap| gap.ns.max(0.0));
        gap.ok_or_else(|| Unknown::new("the device time of the smallest kernel in a graph"))
    }

    /// Extra nanoseconds in a graph before a kernel that follows one that `has_waited` for another
    /// branch, or that `is_awaited` by one; 0 where that was not measured.
    pub fn branch_gap(&self, has_waited: bool, is_awaited: bool) -> f64 {
        let GraphCosts { gap_behind_waiting, gap_behind_awaited, .. } = &self.graph;
        let gaps = [(has_waited, gap_behind_waiting), (is_awaited, gap_behind_awaited)];
        let gaps = gaps.into_iter().filter(|(is_so, _)| *is_so).filter_map(|(_, gap)| *gap);
        gaps.map(|gap| gap.ns).sum()
    }

    /// Nanoseconds from the end of a node to the start of one that depends on it; 0 between two of
    /// the same kind.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_hand_over(&self, from: OperationKind, to: OperationKind) -> Known<f64> {
        if from == to {
            return Ok(0.0);
        }
        let found = self.graph.hand_overs.iter().find(|h| (h.from, h.to) == (from, to));
        let (from, to) = (from.name(), to.name());
        let unknown = || Unknown::new(format!("the hand-over from {from} to {to} in a graph"));
        found.map(|hand_over| hand_over.time.ns.max(0.0)).ok_or_else(unknown)
    }
}
