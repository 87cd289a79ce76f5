//! Sizes and numbers that who measures and who fits have to agree on.

use super::{Link, TimedCall};
use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;
use std::time::Duration;

/// More than the cores' own caches hold and less than the shared one does.
pub const SHARED_FOOTPRINT: Bytes = Bytes::mib(96);
/// On going round so much or more, a CPU finds nothing in its caches.
pub const MEMORY_FOOTPRINT: Bytes = Bytes::mib(1024);
/// On going round so much or more, a device finds nothing in its caches.
pub const DEVICE_FOOTPRINT: Bytes = Bytes::mib(256);
/// What copies to the host write goes into its caches, and stays in a part of them: with Intel's
/// Data Direct I/O, in two ways of the last-level cache (Farshin et al., "Reexamining direct cache
/// access to optimize I/O intensive applications for multi-hundred-gigabit networks", USENIX ATC
/// 2020). What does not fit goes on to memory, where it gets in the way of what copies to the
/// device read. All of so much stays.
pub const WRITTEN_KEPT: Bytes = Bytes::mib(8);
/// And of so much or more, nothing.
pub const WRITTEN_THROUGH: Bytes = Bytes::mib(256);

/// What copies both ways went round that do not say so.
pub(super) const fn written_through() -> Bytes {
    WRITTEN_THROUGH
}

/// What one thread runs, going round ever more memory, to find out how much of
/// it its core keeps for itself. Beyond [`MOST_OF_ONE_CORE`], it keeps nothing.
pub const ONE_THREAD: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 12);
/// What all threads run for that, up to [`SHARED_FOOTPRINT`].
pub const ONE_TEAM: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 18);
pub const MOST_OF_ONE_CORE: Bytes = Bytes::mib(8);
pub const SHORT_COPY: Bytes = Bytes::kib(4);
pub const LONG_COPY: Bytes = Bytes::kib(256);
/// Of the second node of a graph: more than a launch takes along.
pub const SECOND_NODE: Bytes = Bytes::kib(64);
/// What lies between the calls of a late trip: twice what it takes until a copy's data comes.
pub const LATE: Duration = Duration::from_micros(4);
/// A kernel and its elements.
pub const SHORT_KERNEL: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 32);
pub const LONG_KERNEL: (Variant, u64) =
    (Variant { kernel: Kernel::Polynomial, extent: 1024 }, 1 << 18);

impl TimedCall {
    /// What a library is called for to find out how long that takes the host: neither the
    /// smallest, of which there is nothing to cut into pieces, nor so much that the device is busy
    /// for long. `None` of calls to the driver.
    pub const fn of_library(self) -> Option<(Variant, u64)> {
        let kernel = match self {
            Self::Multiply => Kernel::Matmul,
            Self::Transform => Kernel::Fft,
            _ => return None,
        };
        Some((Variant { kernel, extent: 1024 }, 1 << 16))
    }
}

/// The calls that are measured among each other, as in a pipeline with a stream for every
/// engine, and how often a turn has them.
pub const IN_TURN: [(TimedCall, usize); 5] = [
    (TimedCall::CopyIn, 1),
    (TimedCall::Launch, 1),
    (TimedCall::CopyOut, 1),
    (TimedCall::Record, 2),
    (TimedCall::Wait, 2),
];
/// The same of a pipeline that has all of a piece in one stream: nothing waits for an event.
pub const IN_ONE_STREAM: [(TimedCall, usize); 3] =
    [(TimedCall::CopyIn, 1), (TimedCall::Launch, 1), (TimedCall::CopyOut, 1)];
/// Of the copies among them: too large to go along with the commands themselves.
pub const IN_TURN_COPY: Bytes = Bytes::kib(64);
/// How many of each are timed together.
pub const TURNS: u64 = 16;
/// Elements of the kernel that a trip begins with.
pub const TRIP_ELEMENTS: u64 = 1 << 16;

/// The two orders in which a chain can go through all engines.
pub const CYCLES: [[Link; 3]; 2] =
    [[Link::CopyIn, Link::Kernel, Link::CopyOut], [Link::CopyOut, Link::Kernel, Link::CopyIn]];

/// Rows of kernels in a graph, whether they wait for copies and whether copies wait for them.
pub const ROWS: [(u64, bool, bool); 5] =
    [(1, false, false), (2, false, false), (1, true, false), (2, true, false), (1, false, true)];

/// The size of copies that an engine takes from several streams in turn.
pub const ROTATED: Bytes = Bytes::mib(1);
/// The same in a graph, and the number of branches: enough to keep the engine busy with
/// copies that are short, so that little is taken from little.
pub const ROTATED_IN_GRAPH: (Bytes, usize) = (LONG_COPY, 4);

/// Copies to the device beside kernels that wait.
pub struct Waiting {
    /// Of each copy.
    pub bytes: Bytes,
    /// In how many streams they wait, and how many in each.
    pub streams: [usize; 3],
    pub kernels: [u64; 3],
}

/// From few that find room in the device to more than it reads at a time.
pub const REFETCHED: Waiting =
    Waiting { bytes: Bytes::mib(1), streams: [2, 3, 4], kernels: [1, 4, 16] };

impl Waiting {
    /// Streams, and kernels in each: none, and all there are.
    pub fn cases(&self) -> impl Iterator<Item = (usize, u64)> {
        let kernels = self.kernels;
        let some = self.streams.into_iter();
        let some = some.flat_map(move |streams| kernels.map(|kernels| (streams, kernels)));
        std::iter::once((0, 0)).chain(some)
    }
}

/// Whether copies to the device, and from it, go on while kernels are timed.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
