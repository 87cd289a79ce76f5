//! The names of plans: a family, its parameters and how host memory is held.

use crate::machine::HostMemory;
use crate::program::Program;
use crate::units::Bytes;
use std::fmt;

/// In which order a chunked plan issues its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Issue {
    /// All calls of a chunk, then the next chunk.
    DepthFirst,
    /// One kind of call for all chunks, then the next kind.
    BreadthFirst,
}

/// How each of several GPUs does its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Each {
    /// Deals its chunks over so many streams, depth first.
    ByChunk { streams: usize },
    /// One stream per engine.
    ByEngine,
}

/// How several GPUs get the operands that all chunks read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// Each GPU copies them from the host.
    Host,
    /// The first GPU copies them from the host, and the others from the first.
    Peers,
}

/// How a workload is carried out. `chunks` counts the pieces of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Every task on the CPU, all threads.
    Cpu,
    /// Copies in and out around every task, each waited for: naive code.
    RoundTrip,
    /// Inputs in once, outputs out once, one stream.
    Resident,
    /// A chunk's copies and kernels in one stream, chunks dealt over streams.
    ByChunk { chunks: u64, streams: usize, issue: Issue },
    /// One stream per engine, joined by events; memory for every chunk.
    ByEngine { chunks: u64 },
    /// By engine with a ring of device buffers: bounded device memory.
    Buffered { chunks: u64, ring: usize },
    /// Chunks dealt over several GPUs.
    MultiGpu { chunks: u64, devices: usize, each: Each, spread: Spread },
}

impl Family {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::RoundTrip => "round-trip",
            Self::Resident => "resident",
            Self::ByChunk { .. } => "by-chunk",
            Self::ByEngine { .. } => "by-engine",
            Self::Buffered { .. } => "buffered",
            Self::MultiGpu { .. } => "multi-gpu",
        }
    }

    /// Pieces into which each batch is cut.
    pub const fn chunks(self) -> u64 {
        match self {
            Self::Cpu | Self::RoundTrip | Self::Resident => 1,
            Self::ByChunk { chunks, .. }
            | Self::ByEngine { chunks }
            | Self::Buffered { chunks, .. }
            | Self::MultiGpu { chunks, .. } => chunks,
        }
    }
}

/// A family with its parameters, its kind of host memory, and how it is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strategy {
    pub family: Family,
    pub memory: HostMemory,
    /// Captured once and then launched as one graph, rather than call by call.
    pub graph: bool,
}

impl Strategy {
    pub const fn is_on_cpu(self) -> bool {
        matches!(self.family, Family::Cpu)
    }

    /// The name by which `families` in a scenario asks for such plans.
    pub const fn family_name(self) -> &'static str {
        if self.graph { "graph" } else { self.family.name() }
    }
}

impl Strategy {
    /// The family with its parameters: `by-chunk 16 x4 depth`, `graph of resident`.
    pub fn without_memory(&self) -> String {
        let name = self.family.name();
        let text = match self.family {
            Family::Cpu | Family::RoundTrip | Family::Resident => name.to_owned(),
            Family::ByChunk { chunks, streams, issue } => {
                let issue = match issue {
                    Issue::DepthFirst => "depth",
                    Issue::BreadthFirst => "breadth",
                };
                format!("{name} {chunks} x{streams} {issue}")
            }
            Family::ByEngine { chunks } => format!("{name} {chunks}"),
            Family::Buffered { chunks, ring } => format!("{name} {chunks} ring {ring}"),
            Family::MultiGpu { chunks, devices, each, spread } => {
                let each = match each {
                    Each::ByChunk { streams } => format!("by-chunk x{streams}"),
                    Each::ByEngine => "by-engine".to_owned(),
                };
                let spread = if spread == Spread::Peers { " peers" } else { "" };
                format!("{name} {chunks} on {devices} {each}{spread}")
            }
        };
        let how = if self.graph { "graph of " } else { "" };
        format!("{how}{text}")
    }
}

impl Strategy {
    /// The name of the plan that this program is: without the kind of host memory where it uses
    /// none.
    pub(super) fn name_of(self, program: &Program) -> String {
        if program.host_footprint() == Bytes::ZERO {
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
        // Memory of the CPU's is pageable unless something else is said.
        if self.family == Family::Cpu && self.memory == HostMemory::Pageable {
            return f.pad(&text);
        }
        f.pad(&format!("{text}, {}", self.memory))
    }
}
