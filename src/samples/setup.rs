//! What is made before a plan can run.

use super::definition::{Definition, Work};
use super::named::named;

named! {
    /// Something that is made before a plan can run.
    pub enum SetupStep {
        Stream = "stream", "creating a stream";
        /// An event that orders streams and takes no time stamp.
        Event = "event", "creating an event";
        /// A context, while another one is in use.
        Context = "context", "creating a context";
        /// Loading the kernel library that NVRTC compiled and that the driver has in its cache.
        Module = "module", "loading a module";
        /// The first call of the driver in a new process, up to a context that can be used.
        NewContext = "new-context", "first call in a new process, including its context";
        /// Like `Module`, in a new process.
        NewModule = "new-module", "loading a module in a new process";
        /// The first launch of a new process, with the wait for its end.
        FirstLaunch = "first-launch", "first launch in a new process, including its completion";
        /// The first launch of a further kernel of the same module, with the wait for its end.
        NextKernel = "next-kernel", "first launch of another kernel, including its completion";
        /// A launch of a kernel that was launched before, with the wait for its end.
        LaterLaunch = "later-launch", "later launch in a new process, including its completion";
    }
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
}
