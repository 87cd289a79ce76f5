//! Paths of copies of rows.

use crate::machine::Direction;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A way for rows that lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowPath {
    PinnedIn,
    PinnedOut,
    PageableIn,
    PageableOut,
    OnDevice,
}

impl RowPath {
    pub const ALL: [Self; 5] =
        [Self::PinnedIn, Self::PinnedOut, Self::PageableIn, Self::PageableOut, Self::OnDevice];

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

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PinnedIn => "H2D copies",
            Self::PinnedOut => "D2H copies",
            Self::PageableIn => "H2D copies of pageable memory",
            Self::PageableOut => "D2H copies of pageable memory",
            Self::OnDevice => "D2D copies",
        }
    }
}

/// Bytes between two rows when rows are measured: more than a row of the smallest kind, and little
/// beside the memory that there is.
pub const GAP: Bytes = Bytes::kib(4);

/// How many rows are measured: their difference is free of what a copy takes besides its rows.
pub const MANY_ROWS: [u64; 2] = [128, 1024];
