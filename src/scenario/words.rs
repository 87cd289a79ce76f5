//! Words that `[plans]` of a scenario chooses from: the only tables of them.

use std::fmt;

/// Makes an enum of words, each with its name in scenarios.
macro_rules! words {
    ($(#[$about:meta])* $Words:ident { $($(#[$doc:meta])* $word:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $Words {
            $($(#[$doc])* $word,)*
        }

        impl $Words {
            /// All names, in the order in which they are listed for users.
            pub const ALL: &[&str] = &[$($name),*];

            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$word),)*
                    _ => None,
                }
            }

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)*
                }
            }
        }
    };
}

words! {
    /// A family of plans, as `families` names it.
    FamilyName {
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
    PlanMemory {
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

impl fmt::Display for FamilyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
