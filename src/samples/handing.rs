//! How threads hand data to each other.

use serde::{Deserialize, Serialize};

/// What others had to do with a kernel's data just before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handing {
    Nothing,
    /// They wrote what it reads.
    Read,
    /// They read what it writes.
    Written,
}

/// Who works on data that others used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taker {
    /// One thread, after all.
    One,
    /// All threads, after one.
    Team,
    /// All threads, each on its share, after a kernel in which those that were through early
    /// helped others with theirs.
    TeamBehindHelpers,
}

impl Taker {
    pub const ALL: [Self; 3] = [Self::One, Self::Team, Self::TeamBehindHelpers];

    /// Elements that change hands with a team of so many threads: enough to tell the time, and
    /// little enough for one core, or for all that have a share, to keep.
    pub const fn elements(self, threads: usize) -> u64 {
        match self {
            Self::One | Self::Team => 1 << 15,
            // Of so many, even two threads have a share each.
            Self::TeamBehindHelpers if threads < 8 => 1 << 17,
            Self::TeamBehindHelpers => (threads as u64) << 14,
        }
    }
}

impl Handing {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Read, Self::Written];
}
