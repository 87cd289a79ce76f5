//! The remedies, one file each: where each applies, and what it makes of a program.
//!
//! Each returns variants, the simplest first.
//!
//! Invariant: none of them knows what anything costs. What they return has yet to be proved.

mod chunks;
mod copy_once;
mod defer_waits;
mod download_stream;
mod drop_copies;
mod gather;
mod graph;
mod in_place;
mod keep_memory;
mod narrow;
mod pack;
mod pin;
mod prefetch;
mod prefetch_managed;
mod stage;

use super::refusal::Refusal;
use super::rewriting::Rewriting;
use super::subject::Subject;
use crate::program::{Allocation, AllocationId, Call, Place, Program, Slice};
use crate::units::{Bytes, words};
use serde::{Deserialize, Serialize};

words! {
    /// A way to rewrite a program into an equivalent one.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Remedy {
        /// Pin host memory, and do not wait for its copies.
        Pin = "pin",
        /// Wait later, wait for an event, or do not wait at all.
        DeferWaits = "defer-waits",
        /// Allocate memory once instead of in every pass, and reuse destinations.
        KeepMemory = "keep-memory",
        /// Drop copies that have no effect.
        DropCopies = "drop-copies",
        /// Copy unchanging data only once.
        CopyOnce = "copy-once",
        /// Copy only the bytes that are used.
        Narrow = "narrow",
        /// Merge small copies into one.
        Pack = "pack",
        /// Copy small results to the host together at the end.
        Gather = "gather",
        /// Stage pageable data through pinned buffers, with all CPU threads.
        Stage = "stage",
        /// Let kernels access pinned memory over the link instead of copying it.
        InPlace = "in-place",
        /// Prefetch the pages of managed memory before they are used.
        PrefetchManaged = "prefetch-managed",
        /// Copy the data of the next step while the current one runs.
        Prefetch = "prefetch",
        /// Copy results in a separate stream.
        DownloadStream = "download-stream",
        /// Split copies and kernels into chunks in several streams.
        Chunks = "chunks",
        /// Launch sequences of calls as a graph.
        Graph = "graph",
    }
}

impl Remedy {
    /// Whether it gives a program another shape: more streams, several passes in one body, graphs.
    pub const fn reshapes(self) -> bool {
        matches!(self, Self::Prefetch | Self::DownloadStream | Self::Chunks | Self::Graph)
    }

    /// Whether it takes all waits of the host out, and puts in those that are needed.
    pub const fn waits_anew(self) -> bool {
        matches!(self, Self::Prefetch | Self::DownloadStream | Self::Chunks)
    }

    /// What it makes of a program, in variants, the simplest first. They have yet to be proved.
    ///
    /// # Errors
    /// Why it does not apply.
    pub(super) fn variants(self, subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
        match self {
            Self::Pin => pin::variants(subject),
            Self::DeferWaits => defer_waits::variants(subject),
            Self::KeepMemory => keep_memory::variants(subject),
            Self::DropCopies => drop_copies::variants(subject),
            Self::CopyOnce => copy_once::variants(subject),
            Self::Narrow => narrow::variants(subject),
            Self::Pack => pack::variants(subject),
            Self::Gather => gather::variants(subject),
            Self::Stage => stage::variants(subject),
            Self::InPlace => in_place::variants(subject),
            Self::PrefetchManaged => prefetch_managed::variants(subject),
            Self::Prefetch => prefetch::variants(subject),
            Self::DownloadStream => download_stream::variants(subject),
            Self::Chunks => chunks::variants(subject),
            Self::Graph => graph::variants(subject),
        }
    }
}

/// Copies of more bytes than this take their time for their bytes, not for being copies.
const SMALL: Bytes = Bytes::kib(256);

/// New memory that the set-up takes.
fn taken(program: &mut Program, name: &str, place: Place, bytes: Bytes) -> Slice {
    let id = AllocationId(program.allocations.len());
    let name = format!("{name}{}", id.0);
    program.allocations.push(Allocation { name, place, bytes, holds: None });
    program.setup.insert(0, Call::allocate(id));
    Slice { allocation: id, offset: Bytes::ZERO, length: bytes }
}
