//! What it costs to go from one operation to the next that depends on it.

use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Estimate, OperationKind, Profile};
use serde::{Deserialize, Serialize};

/// Time from the end of an operation to the start of one that depends on it, beyond the gap between
/// neighbours on one engine in one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    pub from: OperationKind,
    pub to: OperationKind,
    /// Through an event to another stream, or within one stream.
    pub across_streams: bool,
    /// What the first operation of its kind pays in a stream that was empty.
    pub first: Estimate,
    /// What those behind it in the queue pay.
    pub queued: Estimate,
}

priced! {
    HandOver { Usual: first, queued; }
    besides from, to, across_streams
}

impl Profile {
    /// What it costs to go from one operation to the next; `None` between two of a kind in one
    /// stream, where it is part of their own time.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn hand_over(
        &self,
        from: OperationKind,
        to: OperationKind,
        across_streams: bool,
    ) -> Known<Option<&HandOver>> {
        if from == to && !across_streams {
            return Ok(None);
        }
        let wanted = (from, to, across_streams);
        let found = self.hand_overs.iter().find(|h| (h.from, h.to, h.across_streams) == wanted);
        let where_to = if across_streams { " in a different stream" } else { "" };
        let (from, to) = (from.name(), to.name());
        let unknown = || Unknown::new(format!("the hand-over from {from} to {to}{where_to}"));
        found.map(Some).ok_or_else(unknown)
    }
}
