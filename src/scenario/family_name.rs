//! The names of families of plans: the only table of them.

use std::fmt;

/// A family of plans, as `families` under `[plans]` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FamilyName {
    Cpu,
    RoundTrip,
    Resident,
    ByChunk,
    ByEngine,
    Buffered,
    MultiGpu,
    Staged,
    Packed,
    Hybrid,
    ZeroCopy,
    Managed,
    ByTask,
    /// Plans of other families, captured as CUDA graphs.
    Graph,
}

const NAMES: [(FamilyName, &str); 14] = [
    (FamilyName::Cpu, "cpu"),
    (FamilyName::RoundTrip, "round-trip"),
    (FamilyName::Resident, "resident"),
    (FamilyName::ByChunk, "by-chunk"),
    (FamilyName::ByEngine, "by-engine"),
    (FamilyName::Buffered, "buffered"),
    (FamilyName::MultiGpu, "multi-gpu"),
    (FamilyName::Staged, "staged"),
    (FamilyName::Packed, "packed"),
    (FamilyName::Hybrid, "hybrid"),
    (FamilyName::ZeroCopy, "zero-copy"),
    (FamilyName::Managed, "managed"),
    (FamilyName::ByTask, "by-task"),
    (FamilyName::Graph, "graph"),
];

impl FamilyName {
    /// All names, in the order in which they are listed for users.
    pub fn all() -> [&'static str; NAMES.len()] {
        NAMES.map(|(_, name)| name)
    }

    pub fn named(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|(_, known)| *known == name).map(|(family, _)| family)
    }
}

impl fmt::Display for FamilyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = NAMES.into_iter().find(|(family, _)| family == self);
        f.pad(found.expect("every family has a name").1)
    }
}
