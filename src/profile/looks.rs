//! Engines poll: when they check again whether an operation that arrived too early may start.

use super::{Curve, Estimate, OperationKind};
use serde::{Deserialize, Serialize};

/// When an engine checks whether a waiting operation may start. An operation waits if it arrives
/// before the one that it depends on, on another engine, has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// Time between two checks of an engine.
    pub period: Estimate,
    /// An operation that arrives too early by no more than this starts at once. Applies where no
    /// tolerance was measured for its kind and for the kind it follows.
    pub grace: Estimate,
    /// When checks begin, by the copy that is under way when an operation arrives (`kernel`: none
    /// is) and by the kind of the operation.
    pub after: Vec<LooksAfter>,
    /// When checks begin for nodes of a graph, by what they follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_graphs: Vec<LooksAfter>,
}

/// Time from the arrival of an operation that is too early to the check from which periods are
/// counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LooksAfter {
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
    pub grace: Option<Estimate>,
}

impl Looks {
    /// How early an operation may arrive behind another one in its stream and still start at once.
    pub fn grace_behind(&self, from: OperationKind, to: OperationKind) -> &Estimate {
        let pair = self.after.iter().find(|pair| (pair.from, pair.to) == (from, to));
        pair.and_then(|pair| pair.grace.as_ref()).unwrap_or(&self.grace)
    }
}
