//! Copies of pinned memory.

use crate::units::Bytes;

/// A few copies of this size last a millisecond or more.
const LARGE_COPY: Bytes = Bytes::mib(16);

/// Whether copies over the host's link are so large that nearly all of their time is set by the
/// link's rate.
pub fn is_of_rate(bytes: Bytes) -> bool {
    bytes >= LARGE_COPY
}

/// The size of copies that an engine takes from several streams in turn.
pub const ROTATED: Bytes = Bytes::mib(1);
