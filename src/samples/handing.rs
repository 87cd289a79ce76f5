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

impl Handing {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Read, Self::Written];
}
