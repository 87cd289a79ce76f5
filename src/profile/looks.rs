//! When engines look whether what came too early may go on.

use super::{Curve, Estimate, OperationKind};
use serde::{Deserialize, Serialize};

/// When an engine looks whether an operation may go on that came before the end of what it
/// has to follow on another engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// Between two looks of an engine.
    pub period: Estimate,
    /// An operation that comes so much too early still has nothing to wait for, wherever it
    /// is not known for what it is and what it follows.
    pub grace: Estimate,
    /// By the copy that is under way as an operation arrives (or `kernel`: none is), and what
    /// the operation is.
    pub after: Vec<LooksAfter>,
    /// Of nodes of a graph, by what they follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_graphs: Vec<LooksAfter>,
}

/// From the arrival of an operation that came too early to the moment from which periods
/// count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LooksAfter {
    pub from: OperationKind,
    pub to: OperationKind,
    pub time: Estimate,
    /// The same over the nanoseconds for which copies have been under way by its arrival: their
    /// data comes after a while, and then there is more and more of it on the link ahead of a
    /// command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<Curve>,
    /// How much too early it may come and go on at once if it follows a `from` in its stream;
    /// of pinned memory, and not in graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Estimate>,
}

impl Looks {
    /// How much too early an operation may come behind another in its stream and go on at
    /// once.
    pub fn grace_behind(&self, from: OperationKind, to: OperationKind) -> &Estimate {
        let pair = self.after.iter().find(|pair| (pair.from, pair.to) == (from, to));
        pair.and_then(|pair| pair.grace.as_ref()).unwrap_or(&self.grace)
    }
}
