//! Engines poll semaphores: when an engine checks again whether an operation that arrived too early
//! may start.

use super::{Curve, Estimate, OperationKind};
use serde::{Deserialize, Serialize};

/// When an engine polls for a waiting operation. An operation waits if it arrives before the one
/// that it depends on, on another engine, has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SemaphorePolling {
    /// Time between two polls of an engine.
    pub period: Estimate,
    /// An operation that arrives too early by no more than this starts at once. Applies where no
    /// tolerance was measured for its kind and for the kind it follows.
    pub arrival_tolerance: Estimate,
    /// When polls begin, by the copy that is under way when an operation arrives (`kernel`: none
    /// is) and by the kind of the operation.
    #[serde(rename = "first_poll")]
    pub first_polls: Vec<FirstPoll>,
    /// When polls begin for nodes of a graph, by what they follow.
    #[serde(default, rename = "first_poll_in_graph", skip_serializing_if = "Vec::is_empty")]
    pub first_polls_in_graphs: Vec<FirstPoll>,
}

/// Time from the arrival of an operation that is too early to the poll from which periods are
/// counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstPoll {
    pub from: OperationKind,
    pub to: OperationKind,
    pub time: Estimate,
    /// Like `time`, over the nanoseconds for which copies have been under way when the operation
    /// arrives. Their data starts flowing after a while, and then ever more of it is queued on the
    /// link ahead of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<Curve>,
    /// How early an operation may arrive and still start at once if it follows a `from` in its
    /// stream. For pinned memory, outside of graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_tolerance: Option<Estimate>,
}

impl SemaphorePolling {
    /// How early an operation may arrive behind another one in its stream and still start at once.
    pub fn tolerance_behind(&self, from: OperationKind, to: OperationKind) -> &Estimate {
        let pair = self.first_polls.iter().find(|pair| (pair.from, pair.to) == (from, to));
        pair.and_then(|pair| pair.arrival_tolerance.as_ref()).unwrap_or(&self.arrival_tolerance)
    }
}
