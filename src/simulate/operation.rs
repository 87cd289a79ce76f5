//! What a call puts into a stream.

use super::processors::Blocks;
use crate::plan::{DeviceId, Direction};
use crate::profile::OperationKind;
use crate::units::{Bytes, Instant, Span};

/// Index of an item in the order of issue: one for each call of the body.
pub(super) type ItemId = u32;

/// No item, no recording.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// The host's alone.
    Nothing,
    /// Holds a copy engine for as long as it takes `alone`, of which the last `fixed` is taken
    /// to go by with none of its data under way; for `delay` nanoseconds more, at most, if the
    /// other direction is busy when it starts, and so many times longer while it is; for
    /// `beside_kernels` more, or the larger of the two, if kernels are at work meanwhile.
    Copy {
        direction: Direction,
        alone: Span,
        delay: f64,
        beside_kernels: f64,
        slowdown: f64,
        bytes: Bytes,
        fixed: Span,
    },
    /// Holds the engine of its device for copies to others, as long as it takes `alone`
    /// with nothing the other way.
    PeerCopy {
        way: [DeviceId; 2],
        alone: Span,
        bytes: Bytes,
    },
    /// Lasts while the driver stages through memory of its own; the host is
    /// released `early` before the end. It holds no engine against other copies:
    /// no family of plans has both sorts at once.
    Staged {
        direction: Direction,
        duration: Span,
        early: Span,
    },
    /// Travels to the device among the stream's own commands, with no copy engine.
    Inline {
        duration: Span,
    },
    /// Holds nothing for `gap`; then its blocks run.
    Kernel {
        gap: Span,
        blocks: Blocks,
    },
    Record,
    Wait,
}

impl Work {
    /// How long it takes; of what holds no engine.
    pub fn by_itself(&self) -> Span {
        match self {
            Self::Staged { duration, .. } | Self::Inline { duration } => *duration,
            _ => unreachable!("kernels are dispatched, copies join engines, events do neither"),
        }
    }
}

/// The end of something that others depend on: when, and what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub time: Instant,
    /// [`NONE`] for the start of the plan.
    pub item: ItemId,
    pub device: u16,
    pub kind: Option<OperationKind>,
}

impl Ending {
    pub const START: Self = Self { time: Instant::START, item: NONE, device: 0, kind: None };
}
