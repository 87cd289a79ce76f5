//! What is made before a plan can run.

use serde::{Deserialize, Serialize};

/// Something that is made before a plan can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupStep {
    Stream,
    /// An event that orders streams and takes no time stamp.
    Event,
    /// A context, while another one is in use.
    Context,
    /// Loading the kernel library that NVRTC compiled and that the driver has in its cache.
    Module,
}

impl SetupStep {
    pub const ALL: [Self; 4] = [Self::Stream, Self::Event, Self::Context, Self::Module];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "creating a stream",
            Self::Event => "creating an event",
            Self::Context => "creating a context",
            Self::Module => "loading a module",
        }
    }
}
