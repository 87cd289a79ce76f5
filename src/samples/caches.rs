//! Footprints: how much memory is used in turn, and so what caches keep of it.

use crate::kernels::{Kernel, Variant};
use crate::units::Bytes;

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

/// Kernel and elements that one thread runs over more and more memory, to find how much its core
/// caches by itself. Beyond [`MOST_OF_ONE_CORE`] it caches nothing.
pub const ONE_THREAD: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 12);

/// Kernel and elements that all threads run over up to [`SHARED_FOOTPRINT`], to find how much their
/// cores cache by themselves.
pub const ONE_TEAM: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 18);

pub const MOST_OF_ONE_CORE: Bytes = Bytes::mib(8);
