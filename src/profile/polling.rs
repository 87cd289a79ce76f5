//! Semaphore polling: when an engine checks again whether an operation that arrived too early may
//! start, and what others pay for the polls.

use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, Estimate, OperationKind, Profile};
use crate::samples::MEANWHILE;
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
    #[serde(default, rename = "first_poll")]
    pub first_polls: Vec<FirstPoll>,
    /// When polls begin for nodes of a graph, by what they follow.
    #[serde(default, rename = "first_poll_in_graph")]
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
    pub under_way: Option<Curve>,
    /// How early an operation may arrive and still start at once if it follows a `from` in its
    /// stream or graph. For pinned memory.
    pub arrival_tolerance: Option<Estimate>,
}

impl SemaphorePolling {
    /// How early an operation may arrive behind another one in its stream and still start at once.
    pub fn tolerance_behind(&self, from: OperationKind, to: OperationKind) -> &Estimate {
        let pair = self.first_polls.iter().find(|pair| (pair.from, pair.to) == (from, to));
        pair.and_then(|pair| pair.arrival_tolerance.as_ref()).unwrap_or(&self.arrival_tolerance)
    }

    /// How early a node of a graph may arrive behind another one and still start at once.
    pub fn tolerance_in_graph(&self, from: OperationKind, to: OperationKind) -> Option<&Estimate> {
        let mut pairs = self.first_polls_in_graphs.iter();
        pairs.find(|pair| (pair.from, pair.to) == (from, to))?.arrival_tolerance.as_ref()
    }
}

/// What a stream pays while other streams wait for a copy or an event. After each kernel the device
/// polls whether a waiting stream may go on, and it reads across the link what they wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polling {
    /// Whether H2D copies, and D2H copies, are under way meanwhile.
    pub copies: [bool; 2],
    /// Nanoseconds before the next kernel of the running stream, beyond the
    /// [gap](super::Latencies::kernel_gap) before any kernel, over the number of waiting streams.
    pub delay: Curve,
}

priced! {
    SemaphorePolling {
        Usual: period;
        No: arrival_tolerance, first_polls as "first_poll",
            first_polls_in_graphs as "first_poll_in_graph";
    }
}

priced! {
    FirstPoll { No: time, under_way, arrival_tolerance; }
    besides from, to
}

priced! {
    Polling { No: delay; }
    besides copies
}

impl Profile {
    /// Extra nanoseconds of a kernel that follows another in its stream while `others` streams
    /// wait; 0 if none do. See [`Profile::knows_polling`].
    pub fn polling(&self, others: usize, copies: [bool; 2]) -> f64 {
        let found = self.polling.iter().find(|model| model.copies == copies);
        found.filter(|_| others > 0).map_or(0.0, |model| model.delay.at(others as f64).max(0.0))
    }

    /// Checks that [`Profile::polling`] was measured for a plan in which H2D `copies`, and D2H
    /// ones, may be under way.
    ///
    /// # Errors
    /// If it was not.
    pub fn knows_polling(&self, copies: [bool; 2]) -> Known {
        let may_be = |meanwhile: &&[bool; 2]| (0..2).all(|way| copies[way] || !meanwhile[way]);
        let measured = |wanted: &[bool; 2]| self.polling.iter().any(|m| m.copies == *wanted);
        let what = "the slowdown of a kernel caused by kernels waiting in other streams";
        let known = MEANWHILE.iter().filter(may_be).all(measured);
        known.then_some(()).ok_or_else(|| Unknown::new(what))
    }
}
