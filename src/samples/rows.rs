//! Paths of copies of rows.

use super::named::named;
use crate::machine::Direction;
use crate::units::Bytes;

named! {
    /// A way for rows that lie apart.
    pub enum RowPath {
        PinnedIn = "pinned-in", "H2D copies";
        PinnedOut = "pinned-out", "D2H copies";
        PageableIn = "pageable-in", "H2D copies of pageable memory";
        PageableOut = "pageable-out", "D2H copies of pageable memory";
        OnDevice = "on-device", "D2D copies";
    }
}

impl RowPath {
    /// Between device and pinned memory.
    pub const fn pinned(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::PinnedIn,
            Direction::DeviceToHost => Self::PinnedOut,
        }
    }

    /// Between device and pageable memory.
    pub const fn staged(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::PageableIn,
            Direction::DeviceToHost => Self::PageableOut,
        }
    }

    /// Whether the host is held while the driver stages the rows.
    pub const fn is_staged(self) -> bool {
        matches!(self, Self::PageableIn | Self::PageableOut)
    }
}

/// Bytes between two rows when rows are measured: more than a row of the smallest kind, and little
/// beside the memory that there is.
pub const GAP: Bytes = Bytes::kib(4);

/// How many rows are measured: their difference is free of what a copy takes besides its rows.
pub const MANY_ROWS: [u64; 2] = [128, 1024];
