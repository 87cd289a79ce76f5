//! How the system gives pages of memory to processes.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What decides how much the first touch of memory costs, and which memory is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPages {
    /// Size of an ordinary page.
    pub bytes: Bytes,
    /// When large ranges get huge pages: `always`, `madvise` or `never` (Linux,
    /// `transparent_hugepage/enabled`), where the system tells.
    pub huge: Option<String>,
    /// Whether whoever touches memory waits until huge pages are free (`transparent_hugepage/
    /// defrag`), where the system tells.
    pub defrag: Option<String>,
    /// From how many bytes on the C library's allocator takes new pages for each allocation, and
    /// gives them back: what the environment sets, or the library's default. (hallway's own buffers
    /// always get new pages.)
    pub allocator: String,
}
