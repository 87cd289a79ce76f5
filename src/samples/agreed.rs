//! Sizes and counts that calibration and fit have to agree on.

use super::{Link, TimedCall};
use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;
use std::time::Duration;

/// A footprint larger than the private caches of the cores and smaller than the cache that they
/// share.
pub const SHARED_FOOTPRINT: Bytes = Bytes::mib(96);
/// With this much memory used in turn, a CPU finds nothing in its caches.
pub const MEMORY_FOOTPRINT: Bytes = Bytes::mib(1024);
/// With this much memory used in turn, a device finds nothing in its caches.
pub const DEVICE_FOOTPRINT: Bytes = Bytes::mib(256);
/// D2H copies that write this much leave all of it in the host's caches. They may use a part of the
/// caches: with Intel's Data Direct I/O, two ways of the last-level cache (Farshin et al.,
/// "Reexamining direct cache access to optimize I/O intensive applications for
/// multi-hundred-gigabit networks", USENIX ATC 2020). What does not fit goes to memory, where it
/// competes with what H2D copies read.
pub const WRITTEN_KEPT: Bytes = Bytes::mib(8);
/// D2H copies that write this much or more leave none of it in the host's caches.
pub const WRITTEN_THROUGH: Bytes = Bytes::mib(256);

/// The footprint of copies both ways in files that do not state it.
pub(super) const fn written_through() -> Bytes {
    WRITTEN_THROUGH
}

/// Kernel and elements that one thread runs over more and more memory, to find how much its core
/// caches by itself. Beyond [`MOST_OF_ONE_CORE`] it caches nothing.
pub const ONE_THREAD: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 12);
/// Kernel and elements that all threads run over up to [`SHARED_FOOTPRINT`], to find how much their
/// cores cache by themselves.
pub const ONE_TEAM: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 18);
pub const MOST_OF_ONE_CORE: Bytes = Bytes::mib(8);
pub const SHORT_COPY: Bytes = Bytes::kib(4);
pub const LONG_COPY: Bytes = Bytes::kib(256);
/// Bytes of the copy in the second node of a graph: more than the launch itself carries.
pub const SECOND_NODE: Bytes = Bytes::kib(64);
/// Pause between the calls of a late trip: twice as long as a copy takes until its data flows.
pub const LATE: Duration = Duration::from_micros(4);
/// The kernel of short chains, with its number of elements.
pub const SHORT_KERNEL: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 32);
pub const LONG_KERNEL: (Variant, u64) =
    (Variant { kernel: Kernel::Polynomial, extent: 1024 }, 1 << 18);

impl TimedCall {
    /// The kernel and the number of elements for which a library is called to time the call: not
    /// the smallest, for which a library has nothing to split, and not so large that the device is
    /// busy for long. `None` for calls to the driver.
    pub const fn of_library(self) -> Option<(Variant, u64)> {
        let kernel = match self {
            Self::Multiply => Kernel::Matmul,
            Self::Transform => Kernel::Fft,
            _ => return None,
        };
        Some((Variant { kernel, extent: 1024 }, 1 << 16))
    }
}

/// Calls that are timed among each other, and how often each occurs in a turn, in a pipeline with
/// one stream for each engine.
pub const IN_TURN: [(TimedCall, usize); 5] = [
    (TimedCall::CopyIn, 1),
    (TimedCall::Launch, 1),
    (TimedCall::CopyOut, 1),
    (TimedCall::Record, 2),
    (TimedCall::Wait, 2),
];
/// Calls that are timed among each other in a pipeline whose pieces have a stream each, so that
/// nothing waits for an event.
pub const IN_ONE_STREAM: [(TimedCall, usize); 3] =
    [(TimedCall::CopyIn, 1), (TimedCall::Launch, 1), (TimedCall::CopyOut, 1)];
/// Bytes of the copies among timed calls: too large to be sent along with the commands.
pub const IN_TURN_COPY: Bytes = Bytes::kib(64);
/// Number of turns that are timed together.
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
/// Size of the copies that an engine takes from several branches of a graph in turn, and the number
/// of branches. Copies are short, so that the pauses between them show, and branches are enough to
/// keep the engine busy.
pub const ROTATED_IN_GRAPH: (Bytes, usize) = (LONG_COPY, 4);

/// How H2D copies beside waiting kernels are measured.
pub struct Waiting {
    /// Size of each copy.
    pub bytes: Bytes,
    /// Numbers of streams in which kernels wait; `kernels` are the numbers in each.
    pub streams: [usize; 3],
    pub kernels: [u64; 3],
}

/// From few waiting streams, whose commands the device keeps, to more than it reads at a time.
pub const REFETCHED: Waiting =
    Waiting { bytes: Bytes::mib(1), streams: [2, 3, 4], kernels: [1, 4, 16] };

impl Waiting {
    /// Pairs of streams and kernels in each: none at all, then every combination.
    pub fn cases(&self) -> impl Iterator<Item = (usize, u64)> {
        let kernels = self.kernels;
        let some = self.streams.into_iter();
        let some = some.flat_map(move |streams| kernels.map(|kernels| (streams, kernels)));
        std::iter::once((0, 0)).chain(some)
    }
}

/// Whether H2D copies, and D2H ones, go on while kernels are timed: all four cases.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
