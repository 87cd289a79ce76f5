//! What is made before a plan can run.

use super::definition::{Definition, Work};
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
    /// The first call of the driver in a new process, up to a context that can be used.
    NewContext,
    /// Like `Module`, in a new process.
    NewModule,
    /// The first launch of a new process, with the wait for its end.
    FirstLaunch,
    /// The first launch of a further kernel of the same module, with the wait for its end.
    NextKernel,
    /// A launch of a kernel that was launched before, with the wait for its end.
    LaterLaunch,
}

impl SetupStep {
    /// What is timed in a process that can be used at once, one step at a time.
    pub const HERE: [Self; 4] = [Self::Stream, Self::Event, Self::Context, Self::Module];
    /// What is timed in a new process, in the order in which it comes there.
    pub const IN_NEW_PROCESS: [Self; 5] =
        [Self::NewContext, Self::NewModule, Self::FirstLaunch, Self::NextKernel, Self::LaterLaunch];

    /// A driver that starts in a new process uses several threads.
    pub(super) fn definition(self) -> Definition {
        Definition::new(Work::Waiting).by_team(Self::IN_NEW_PROCESS.contains(&self))
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "creating a stream",
            Self::Event => "creating an event",
            Self::Context => "creating a context",
            Self::Module => "loading a module",
            Self::NewContext => "first call in a new process, including its context",
            Self::NewModule => "loading a module in a new process",
            Self::FirstLaunch => "first launch in a new process, with its completion",
            Self::NextKernel => "first launch of another kernel, with its completion",
            Self::LaterLaunch => "later launch in a new process, with its completion",
        }
    }
}
