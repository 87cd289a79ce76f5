//! What a call puts into a stream, and when that ends.

use super::processors::Blocks;
use crate::machine::{DeviceId, Direction};
use crate::profile::OperationKind;
use crate::units::{Bytes, Instant, Span};

/// Index of an item in the order of issue. There is one item for each call of the body.
pub(super) type ItemId = u32;

/// The index of no item and of no recording.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Nothing: the host does all of it.
    Nothing,
    /// Holds a copy engine for `alone`; none of its data is taken to be on the link in the last
    /// `fixed` of that. It takes up to `delay` nanoseconds more if the other direction is busy when
    /// it starts, and `slowdown` times longer while it is. If kernels run meanwhile it takes
    /// `beside_kernels` nanoseconds more, or the delay if that is larger.
    Copy {
        direction: Direction,
        alone: Span,
        delay: f64,
        beside_kernels: f64,
        slowdown: f64,
        bytes: Bytes,
        fixed: Span,
    },
    /// Holds its device's engine for copies to other devices, for the time `alone` if nothing goes
    /// the other way.
    PeerCopy {
        way: [DeviceId; 2],
        alone: Span,
        bytes: Bytes,
    },
    /// Lasts while the driver stages the data through memory of its own; the host is released
    /// `early` before the end. It does not hold the engine against other copies: none of pinned
    /// memory is under way in its direction, see [`super::needs::shape`].
    Staged {
        direction: Direction,
        duration: Span,
        early: Span,
    },
    /// Travels to the device among the stream's own commands, with no copy engine.
    Inline {
        duration: Span,
    },
    /// Holds nothing during `gap`; then its blocks run.
    Kernel {
        gap: Span,
        blocks: Blocks,
    },
    Record,
    Wait,
}

impl Work {
    /// How long an operation takes that holds no engine.
    pub fn by_itself(&self) -> Span {
        match self {
            Self::Staged { duration, .. } | Self::Inline { duration } => *duration,
            _ => unreachable!("kernels are dispatched, copies join engines, events do neither"),
        }
    }
}

/// The end of something that other operations depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub time: Instant,
    /// What ended; [`NONE`] for the start of the plan.
    pub item: ItemId,
    pub device: u16,
    pub kind: Option<OperationKind>,
}

impl Ending {
    pub const START: Self = Self { time: Instant::START, item: NONE, device: 0, kind: None };
}
