//! What CUDA graphs cost, and what a profile answers about them.

use super::{Curve, Estimate, OperationKind};
use serde::{Deserialize, Serialize};

/// Costs of CUDA graphs: what the host pays for a graph instead of for each call, and how nodes
/// differ on the device from operations in streams.
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
    /// Device time of the smallest kernel when many run back to back in a graph: what a node costs
    /// the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// How much longer `kernel_gap` is right behind a kernel that had to wait for another branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_behind_waiting: Option<Estimate>,
    /// How much longer `kernel_gap` is right behind a kernel that another branch waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// The part that does not depend on the number of nodes: the intercept of a straight line.
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

impl GraphCosts {
    /// Whether nothing about graphs was measured.
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
