//! Words that `[plans]` of a scenario chooses from: the only tables of them; and whose code the CPU
//! runs.

use crate::units::words;
use serde::{Deserialize, Serialize};

words! {
    /// A family of plans, as `families` names it.
    pub enum FamilyName {
        Cpu = "cpu",
        RoundTrip = "round-trip",
        Resident = "resident",
        ByChunk = "by-chunk",
        ByEngine = "by-engine",
        Buffered = "buffered",
        MultiGpu = "multi-gpu",
        Staged = "staged",
        Packed = "packed",
        Hybrid = "hybrid",
        ZeroCopy = "zero-copy",
        Managed = "managed",
        ByTask = "by-task",
        /// Plans of other families, captured as CUDA graphs.
        Graph = "graph",
    }
}

words! {
    /// How a plan holds data that the scenario has in pageable memory, as `memory` names it.
    pub enum PlanMemory {
        /// As it is: the driver stages copies.
        Pageable = "pageable",
        /// Pinned by the set-up.
        Pinned = "pinned",
        /// Pinned by each pass, and unpinned at its end.
        PinnedEachPass = "pinned-each-pass",
        /// Inputs in write-combined memory, results in pinned memory.
        WriteCombined = "write-combined",
    }
}

/// Whose code does the scenario's tasks on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CpuCode {
    /// hallway's own, on all threads.
    Hallway,
    /// The user's own: timed, still to be timed, or priced by its work per element.
    Yours,
    /// The user's own, by times that the scenario states.
    Stated,
    /// hallway's own for some tasks, and the user's for others.
    Mixed,
}
