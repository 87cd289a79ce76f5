//! What graphs cost, and what a profile answers about them.

use super::answers::known;
use super::{Curve, Estimate, OperationKind, Profile, Unknown};
use crate::samples::GraphCall;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Graphs of a machine: what the host pays for one instead of for its calls, and
/// what differs on the device from the same operations in streams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphCosts {
    pub capture: Option<PerNode>,
    pub instantiate: Option<PerNode>,
    pub launch: Option<PerNode>,
    /// From the return of a launch on an idle device to the start of a node that
    /// depends on no other.
    pub start_kernel: Option<Estimate>,
    pub start_copy_in: Option<Estimate>,
    pub start_copy_out: Option<Estimate>,
    /// Device time of the smallest kernel, one after the other in a graph: what a
    /// node costs the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// How much longer that is of a kernel right behind one that had another branch to
    /// wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_behind_waiting: Option<Estimate>,
    /// And of one behind a kernel that another branch waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_behind_awaited: Option<Estimate>,
    #[serde(default, rename = "handover")]
    pub hand_overs: Vec<NodeHandOver>,
    /// Nanoseconds for which a copy engine stands still on going from one branch to
    /// another, over the number of branches that keep it busy.
    pub down_switch: Option<Curve>,
    pub up_switch: Option<Curve>,
}

/// Host time of a call about a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerNode {
    /// Of a graph without nodes, as far as a straight line tells.
    pub per_graph: Estimate,
    /// Of a node that does not go to the device with the one before.
    pub per_node: Estimate,
}

/// From the end of one node to the start of one that depends on it, above what a
/// chain on one engine in one stream costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeHandOver {
    pub from: OperationKind,
    pub to: OperationKind,
    pub time: Estimate,
}

impl GraphCosts {
    /// Whether nothing of it was measured.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every estimate.
    pub fn estimates(&mut self) -> impl Iterator<Item = &mut Estimate> {
        let calls = [&mut self.capture, &mut self.instantiate, &mut self.launch];
        let calls = calls.into_iter().flatten();
        let starts = [&mut self.start_kernel, &mut self.start_copy_in, &mut self.start_copy_out];
        let gaps =
            [&mut self.kernel_gap, &mut self.gap_behind_waiting, &mut self.gap_behind_awaited];
        let rest = starts.into_iter().chain(gaps).flatten();
        calls
            .flat_map(|cost| [&mut cost.per_graph, &mut cost.per_node])
            .chain(rest)
            .chain(self.hand_overs.iter_mut().map(|hand_over| &mut hand_over.time))
    }
}

impl Profile {
    /// Host time of a call about a graph of so many nodes.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn graph_call(&self, call: GraphCall, nodes: usize) -> Result<Span, Unknown> {
        let graph = &self.graph;
        let (cost, name) = match call {
            GraphCall::Capture => (&graph.capture, "capturing"),
            GraphCall::Instantiate => (&graph.instantiate, "instantiating"),
            GraphCall::Launch => (&graph.launch, "launching"),
        };
        let unknown = || Unknown::new(format!("the host cost of {name} a graph"));
        let PerNode { per_graph, per_node } = cost.as_ref().ok_or_else(unknown)?;
        Ok(Span::from_nanos_f64((per_graph.ns + per_node.ns * nodes as f64).max(0.0)))
    }

    /// From the return of a graph's launch on an idle device to the start of a node
    /// that depends on no other.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_start(&self, kind: OperationKind) -> Result<Span, Unknown> {
        let latency = match kind {
            OperationKind::CopyIn => &self.graph.start_copy_in,
            OperationKind::CopyOut => &self.graph.start_copy_out,
            OperationKind::Kernel => &self.graph.start_kernel,
            OperationKind::PeerCopy => &None,
        };
        known(latency, || format!("how long {} takes to start in a graph", kind.name()))
    }

    /// Nanoseconds that the smallest kernel takes on the device, one after the
    /// other in a graph.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_gap(&self) -> Result<f64, Unknown> {
        let gap = self.graph.kernel_gap.as_ref().map(|gap| gap.ns.max(0.0));
        gap.ok_or_else(|| Unknown::new("the device time of the smallest kernel in a graph"))
    }

    /// Nanoseconds that a kernel's gap is longer by in a graph, behind one that `has_waited` for
    /// another branch, or that `is_awaited` by another; nothing where that was not measured.
    pub fn branch_gap(&self, has_waited: bool, is_awaited: bool) -> f64 {
        let GraphCosts { gap_behind_waiting, gap_behind_awaited, .. } = &self.graph;
        let gaps = [(has_waited, gap_behind_waiting), (is_awaited, gap_behind_awaited)];
        let gaps = gaps.into_iter().filter(|(is_so, _)| *is_so).filter_map(|(_, gap)| *gap);
        gaps.map(|gap| gap.ns).sum()
    }

    /// Nanoseconds from the end of one node to the start of one that depends on it;
    /// nothing from one to another of its kind.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn node_hand_over(&self, from: OperationKind, to: OperationKind) -> Result<f64, Unknown> {
        if from == to {
            return Ok(0.0);
        }
        let found = self.graph.hand_overs.iter().find(|h| (h.from, h.to) == (from, to));
        let (from, to) = (from.name(), to.name());
        let unknown = || Unknown::new(format!("the hand-over from {from} to {to} in a graph"));
        found.map(|hand_over| hand_over.time.ns.max(0.0)).ok_or_else(unknown)
    }
}
