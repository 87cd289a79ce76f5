//! The host thread: it issues calls in order, and each has its cost.

use super::cost::{CallCost, Waits};
use super::operation::OperationId;
use crate::plan::StreamId;
use crate::units::{Instant, Span};

/// What the host thread is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum HostState {
    /// Inside a call, until the event that ends it.
    Calling,
    /// Waiting for a stream to drain; waking up takes as long as given.
    Draining {
        stream: StreamId,
        wake: Span,
    },
    /// Waiting until an operation needs the host no more.
    Staging {
        id: OperationId,
    },
    Finished,
}

/// The host thread and its place in the program.
pub(super) struct Host {
    pub next: usize,
    pub state: HostState,
    /// When the call that is under way was entered.
    pub entered: Instant,
}

impl Host {
    pub fn new() -> Self {
        Self { next: 0, state: HostState::Calling, entered: Instant::START }
    }

    /// What the host does after the active part of a call.
    pub fn after(
        cost: &CallCost,
        stream: Option<(StreamId, bool)>,
        operation: Option<OperationId>,
    ) -> Option<HostState> {
        match (cost.waits, stream, operation) {
            (Waits::Stream(wake), Some((stream, false)), _) => {
                Some(HostState::Draining { stream, wake })
            }
            (Waits::Staging, _, Some(id)) => Some(HostState::Staging { id }),
            _ => None,
        }
    }
}
