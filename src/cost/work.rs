//! What a call costs the host, and what it puts into its stream.

use super::multiprocessors::Blocks;
use crate::machine::{DeviceId, Direction};
use crate::profile::OperationKind;
use crate::program::ThreadId;
use crate::units::{Bytes, Span};
use std::mem::{Discriminant, discriminant};

/// What calls of one kind and size cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallCost {
    /// Host time from entry to return, when the call need not wait. For a node of a graph, the part
    /// of the graph's launch that passes until the next node is issued.
    pub host: Span,
    /// From the return of the call to the earliest start on an idle device. For the launch of a
    /// graph, the part of the launch before the first node.
    pub latency: Span,
    pub work: Work,
    pub waits: Waits,
    /// How long waking up takes if the host has to wait.
    pub wake: Span,
    /// The part of the host time that comes behind the wait.
    pub then: Span,
    /// For which share of its time the host streams through memory with all threads.
    pub streams: f64,
    /// Whether the call is in a graph, where the host makes only the graph's launch.
    pub in_graph: bool,
    /// Whether the next cost in the list applies if the stream is empty: the data then travels with
    /// the command.
    pub may_go_inline: bool,
}

impl CallCost {
    /// The cost of a call that occupies the host for this long and puts nothing into a stream.
    #[inline]
    pub const fn on_host(host: Span) -> Self {
        Self {
            host,
            latency: Span::ZERO,
            work: Work::Nothing,
            waits: Waits::No,
            wake: Span::ZERO,
            then: Span::ZERO,
            streams: 0.0,
            in_graph: false,
            may_go_inline: false,
        }
    }

    /// The cost of a wait for another thread: the waiting one looks at a flag, again and again.
    pub const fn until_thread(other: ThreadId) -> Self {
        Self { waits: Waits::Thread(other.0), ..Self::on_host(Span::ZERO) }
    }
}

/// What the host waits for before a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    No,
    /// Everything in the stream.
    Stream,
    /// The latest record of an event.
    Event,
    /// Everything in the streams of one device, or of all.
    Device(Option<DeviceId>),
    /// All calls of another host thread that come before this one.
    Thread(u16),
    /// The call's own operation, up to the point at which staging no longer needs the host.
    Staging,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
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
    PeerCopy { way: [DeviceId; 2], alone: Span, bytes: Bytes },
    /// Lasts while the driver stages the data through memory of its own; the host is released
    /// `early` before the end. It does not hold the engine against other copies: none of pinned
    /// memory is under way in its direction, see `cost::analysis`.
    Staged { direction: Direction, duration: Span, early: Span },
    /// Travels to the device among the stream's own commands, with no copy engine.
    Inline { duration: Span },
    /// A copy inside a device, which holds no copy engine.
    OnDevice { duration: Span },
    /// Holds nothing during `gap`; then its blocks run.
    Kernel { gap: Span, blocks: Blocks },
    /// Records an event.
    Record,
    /// Waits for an event.
    Wait,
}

impl Work {
    /// How long an operation takes that holds no engine.
    #[inline]
    pub fn by_itself(&self) -> Span {
        match self {
            Self::Staged { duration, .. }
            | Self::Inline { duration }
            | Self::OnDevice { duration } => *duration,
            _ => unreachable!("kernels are dispatched, copies join engines, events do neither"),
        }
    }
}

/// What a call is, whatever it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CostKind {
    work: Discriminant<Work>,
    kind: WorkKind,
    waits: Waits,
    in_graph: bool,
    may_go_inline: bool,
    takes_host: bool,
}

impl CostKind {
    pub fn of(cost: &CallCost) -> Self {
        Self {
            work: discriminant(&cost.work),
            kind: WorkKind::of(&cost.work),
            waits: cost.waits,
            in_graph: cost.in_graph,
            may_go_inline: cost.may_go_inline,
            takes_host: cost.host > Span::ZERO,
        }
    }
}

/// What the engine needs to know of a call's work without looking up its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// The call puts nothing into a stream.
    Nothing,
    Record,
    Wait,
    Operation(OperationKind),
}

impl WorkKind {
    pub const KERNEL: Self = Self::Operation(OperationKind::Kernel);

    #[inline]
    pub const fn of(work: &Work) -> Self {
        match work {
            Work::Nothing => Self::Nothing,
            Work::Record => Self::Record,
            Work::Wait => Self::Wait,
            Work::Copy { direction, .. } | Work::Staged { direction, .. } => {
                Self::Operation(OperationKind::of_copy(*direction))
            }
            Work::PeerCopy { .. } => Self::Operation(OperationKind::PeerCopy),
            // An inline copy comes from where kernels are launched, so nothing is handed over.
            Work::Kernel { .. } | Work::Inline { .. } | Work::OnDevice { .. } => {
                Self::Operation(OperationKind::Kernel)
            }
        }
    }
}
