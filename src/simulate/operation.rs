//! What a call puts into a stream.

use crate::plan::{Direction, EventId, StreamId};
use crate::profile::OperationKind;
use crate::units::{Instant, Span};

/// Index of an operation in the order of issue.
pub(super) type OperationId = usize;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Holds a copy engine for `fixed`, then for `flowing` of link time, which
    /// lasts longer while the other direction flows too.
    Copy {
        direction: Direction,
        fixed: Span,
        flowing: Span,
    },
    /// Holds a copy engine while the driver stages through its own memory; the
    /// host is released `early` before the end.
    Staged {
        direction: Direction,
        duration: Span,
        early: Span,
    },
    /// Holds nothing for `gap`, then up to `demand` of the multiprocessors
    /// until `busy` of time at that demand is done.
    Kernel {
        gap: Span,
        busy: Span,
        demand: f64,
    },
    Record(EventId),
    Wait(EventId),
}

impl Work {
    /// The kind that hand-over costs go by; `None` for events, which cost nothing themselves.
    pub fn kind(&self) -> Option<OperationKind> {
        match self {
            Self::Copy { direction, .. } | Self::Staged { direction, .. } => {
                Some(match direction {
                    Direction::HostToDevice => OperationKind::CopyIn,
                    Direction::DeviceToHost => OperationKind::CopyOut,
                })
            }
            Self::Kernel { .. } => Some(OperationKind::Kernel),
            Self::Record(_) | Self::Wait(_) => None,
        }
    }
}

/// An operation in a stream.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub call: usize,
    pub stream: StreamId,
    pub work: Work,
    /// When the device could start it if nothing stood in its way.
    pub arrives: Instant,
}

/// The end of something that others depend on: when, and what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub time: Instant,
    pub kind: Option<OperationKind>,
}
