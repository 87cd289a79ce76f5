//! The names of the ways in which plans hold the host's data: the only table of them.

/// How a plan holds data that the scenario has in pageable memory, as `memory` under `[plans]`
/// names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanMemory {
    /// As it is: the driver stages copies.
    Pageable,
    /// Pinned by the set-up.
    Pinned,
    /// Pinned by each pass, and unpinned at its end.
    PinnedEachPass,
    /// Inputs in write-combined memory, results in pinned memory.
    WriteCombined,
}

const NAMES: [(PlanMemory, &str); 4] = [
    (PlanMemory::Pageable, "pageable"),
    (PlanMemory::Pinned, "pinned"),
    (PlanMemory::PinnedEachPass, "pinned-each-pass"),
    (PlanMemory::WriteCombined, "write-combined"),
];

impl PlanMemory {
    /// All names, in the order in which they are listed for users.
    pub fn all() -> [&'static str; NAMES.len()] {
        NAMES.map(|(_, name)| name)
    }

    pub fn named(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|(_, known)| *known == name).map(|(memory, _)| memory)
    }

    pub fn name(self) -> &'static str {
        let found = NAMES.into_iter().find(|(memory, _)| *memory == self);
        found.expect("every way has a name").1
    }
}
