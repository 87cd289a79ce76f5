//! Host threads as they are spelled out.

use super::expression::{Indices, Part, filled_in};
use super::names::{MAIN, known};
use crate::files::{Fault, Spanned};
use crate::machine::DeviceId;
use crate::program::{MOST_THREADS, ThreadId};

/// Host threads by their names.
#[derive(Debug)]
pub(super) struct HostThreads {
    names: Vec<String>,
    /// For each thread, the GPU whose context is current.
    current: Vec<DeviceId>,
    /// The thread that makes the calls that are added now.
    pub making: ThreadId,
}

impl Default for HostThreads {
    fn default() -> Self {
        let (names, current) = (vec![MAIN.to_owned()], vec![DeviceId::FIRST]);
        Self { names, current, making: ThreadId::MAIN }
    }
}

impl HostThreads {
    pub fn all(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.names.len() as u16).map(ThreadId)
    }

    /// The GPU whose context is current.
    pub fn current(&mut self) -> &mut DeviceId {
        &mut self.current[usize::from(self.making.0)]
    }

    fn named(&self, name: &str) -> Option<ThreadId> {
        let at = self.names.iter().position(|known| known == name);
        at.map(|at| ThreadId(at as u16))
    }

    /// The thread of a name, which is made if it is new.
    pub fn thread(
        &mut self,
        name: &Spanned<String>,
        indices: &Indices,
        in_setup: bool,
    ) -> Result<ThreadId, Fault> {
        let part = Part::whole(name);
        let name = filled_in(part, indices)?;
        if let Some(known) = self.named(&name) {
            return Ok(known);
        }
        if in_setup {
            let message = format!("thread `{name}` makes a call in the set-up");
            let help = "remove `thread`: the main thread makes all set-up calls";
            return Err(part.fault(message, "not the main thread", help));
        }
        let threads = self.names.len();
        if threads == MOST_THREADS {
            let message = format!("with `{name}`, there are more than {MOST_THREADS} host threads");
            return Err(part.fault(message, "over the limit", "use fewer threads"));
        }
        self.names.push(name);
        self.current.push(DeviceId::FIRST);
        Ok(ThreadId(threads as u16))
    }

    /// The thread of a name that another one waits for.
    pub fn awaited(&self, name: &Spanned<String>, indices: &Indices) -> Result<ThreadId, Fault> {
        let part = Part::whole(name);
        let name = filled_in(part, indices)?;
        let Some(thread) = self.named(&name) else {
            let message = format!("no earlier call is made by a thread named `{name}`");
            let help = known("threads", self.names.iter().map(String::as_str));
            return Err(part.fault(message, "unknown thread", help));
        };
        if thread == self.making {
            let message = format!("thread `{name}` waits for itself");
            let help = "set `thread = \"...\"` to the thread that should wait";
            return Err(part.fault(message, "made by the same thread", help));
        }
        Ok(thread)
    }
}
