//! The names of plans: a family with its parameters, and how host memory is held.

use super::Family;
use crate::machine::HostMemory;
use crate::program::{BufferId, Program};
use crate::scenario::{FamilyName, Workload};
use crate::units::Bytes;
use std::fmt;

/// A family with its parameters, its kind of host memory, and how it is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strategy {
    pub family: Family,
    pub memory: HostMemory,
    /// Captured once and then launched as one graph, rather than call by call.
    pub graph: bool,
    /// Whether each pass pins the buffers and unpins them, rather than the set-up once.
    pub each_pass: bool,
}

impl Strategy {
    /// Plans of a family with a kind of host memory: not captured into a graph, and set up once.
    pub fn plain(family: impl Into<Family>, memory: HostMemory) -> Self {
        Self { family: family.into(), memory, graph: false, each_pass: false }
    }

    pub fn is_on_cpu(self) -> bool {
        self.family.is_on_cpu()
    }

    /// The name by which `families` in a scenario asks for such plans.
    pub fn family_name(self) -> FamilyName {
        if self.graph { FamilyName::Graph } else { self.family.name() }
    }

    /// The family with its parameters: `by-chunk 16 x4 depth`, `graph of resident`.
    pub fn without_memory(&self) -> String {
        let how = if self.graph { "graph of " } else { "" };
        let name = self.family.name();
        match self.family.parameters() {
            Some(parameters) => format!("{how}{name} {parameters}"),
            None => format!("{how}{name}"),
        }
    }

    /// The kind of host memory that a buffer is held in if the scenario has it pageable. What the
    /// CPU reads is not write-combined: it would read it very slowly.
    pub(super) fn held(self, workload: &Workload, id: BufferId) -> HostMemory {
        let is_only_read = || workload.is_input(id) && !workload.is_output(id);
        match self.memory {
            HostMemory::WriteCombined if !is_only_read() => HostMemory::Pinned,
            memory => memory,
        }
    }

    /// The kind of host memory that the plan takes for itself.
    pub(super) fn own_memory(self) -> HostMemory {
        match self.memory {
            HostMemory::WriteCombined => HostMemory::Pinned,
            memory => memory,
        }
    }

    /// The name of the plan that this program is: without the kind of host memory where it copies
    /// to and from none, unless another plan has the same calls in another kind.
    pub(super) fn name_of(self, program: &Program) -> String {
        let is_special = self.memory == HostMemory::WriteCombined || self.each_pass;
        let has_host_memory = program.host_bytes() > Bytes::ZERO;
        if program.host_footprint().all == Bytes::ZERO && !(is_special && has_host_memory) {
            self.without_memory()
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for Strategy {
    /// Short and unique: `by-chunk 16 x4 depth, pinned`, `graph of resident, pinned`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.without_memory();
        // The CPU's memory is pageable unless something else is said.
        if self.is_on_cpu() && self.memory == HostMemory::Pageable {
            return f.pad(&text);
        }
        let when = if self.each_pass { " each pass" } else { "" };
        f.pad(&format!("{text}, {}{when}", self.memory))
    }
}
