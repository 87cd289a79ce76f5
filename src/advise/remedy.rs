//! The ways to rewrite a program.

use crate::units::words;
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
        /// Spread independent copies and kernels over several streams.
        MoreStreams = "more-streams",
        /// Launch sequences of calls as a graph.
        Graph = "graph",
        /// Leave all of the work to the CPU.
        Cpu = "cpu",
        /// Share the work between CPU and GPU.
        Share = "share",
        /// Use several GPUs.
        SeveralGpus = "several-gpus",
        /// Schedule the tasks over streams, by their critical path.
        Schedule = "schedule",
    }
}

impl Remedy {
    /// Whether it gives a program another shape: more streams, several passes in one body, graphs.
    pub const fn reshapes(self) -> bool {
        self.waits_anew() || matches!(self, Self::Graph)
    }

    /// Whether it is another plan for a scenario's tasks. Calls alone do not say what they compute.
    pub const fn is_plan(self) -> bool {
        matches!(self, Self::Cpu | Self::Share | Self::SeveralGpus | Self::Schedule)
    }

    /// Whether it takes all waits of the host out, and puts in those that are needed.
    pub const fn waits_anew(self) -> bool {
        matches!(self, Self::Prefetch | Self::DownloadStream | Self::Chunks | Self::MoreStreams)
    }
}
