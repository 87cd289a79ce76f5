//! What a call puts into a stream.

use crate::plan::{Direction, EventId, StreamId};
use crate::profile::OperationKind;
use crate::units::{Instant, Span};

/// Index of an operation in the order of issue.
pub(super) type OperationId = usize;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Holds a copy engine for as long as it takes `alone`, and so many times
    /// longer while the other direction is busy too.
    Copy {
        direction: Direction,
        alone: Span,
        slowdown: f64,
    },
    /// Holds a copy engine while the driver stages through its own memory; the
    /// host is released `early` before the end.
    Staged {
        direction: Direction,
        duration: Span,
        early: Span,
    },
    /// Travels to the device among the stream's own commands, with no copy engine.
    Inline {
        duration: Span,
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
            // Both run where kernels are launched from: nothing is handed over.
            Self::Inline { .. } | Self::Kernel { .. } => Some(OperationKind::Kernel),
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
    pub issued: Instant,
    /// When the device could start it if nothing stood in its way.
    pub arrives: Instant,
}

impl Operation {
    /// The chance, 0 to 1, that the device looks for something that ends at
    /// `time` too early and has to wait for it. It looks once between the issue
    /// and the arrival; whoever looks after the end finds the way clear.
    pub fn waits_for(&self, time: Instant) -> f64 {
        if time >= self.arrives {
            return 1.0;
        }
        if time <= self.issued {
            return 0.0;
        }
        time.since(self.issued).nanos_f64() / self.arrives.since(self.issued).nanos_f64()
    }
}

/// The end of something that others depend on: when, and what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub time: Instant,
    pub kind: Option<OperationKind>,
}
