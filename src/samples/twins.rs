//! How threads hand data to each other between CPU twins.

use serde::{Deserialize, Serialize};

/// What other threads did with a kernel's data just before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handing {
    Nothing,
    /// Other threads wrote what the kernel reads.
    Read,
    /// Other threads read what the kernel writes.
    Written,
}

/// Who works on data that others used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taker {
    /// One thread, on data that all threads used.
    One,
    /// All threads, on data that one thread used.
    Team,
    /// All threads, each on its share, after a kernel in which threads that finished early helped
    /// others with their shares.
    TeamBehindHelpers,
}

impl Taker {
    pub const ALL: [Self; 3] = [Self::One, Self::Team, Self::TeamBehindHelpers];

    /// Number of elements for a team of this size: enough to be timed, and few enough to stay in
    /// the caches of the cores that work on them.
    pub const fn elements(self, threads: usize) -> u64 {
        match self {
            Self::One | Self::Team => 1 << 15,
            // Large enough for two threads to have a share each.
            Self::TeamBehindHelpers if threads < 8 => 1 << 17,
            Self::TeamBehindHelpers => (threads as u64) << 14,
        }
    }
}

impl Handing {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Read, Self::Written];
}
