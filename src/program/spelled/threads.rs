//! Host threads as they are spelled out.

use super::expand::Expansion;
use super::expression::{Part, filled_in};
use crate::files::{Fault, Spanned};
use crate::machine::DeviceId;
use crate::program::{MOST_THREADS, ThreadId};

/// The name of the thread that makes the set-up, and all calls that name no other.
pub(super) const MAIN: &str = "main";

/// Host threads by their names. Each has a GPU whose context is current.
#[derive(Debug)]
pub(super) struct HostThreads {
    names: Vec<String>,
    pub current: Vec<DeviceId>,
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

    fn named(&self, name: &str) -> Option<ThreadId> {
        let at = self.names.iter().position(|known| known == name);
        at.map(|at| ThreadId(at as u16))
    }
}

impl Expansion<'_> {
    /// The thread of a name, which is made if it is new.
    pub(super) fn thread(&mut self, name: &Spanned<String>) -> Result<ThreadId, Fault> {
        let part = Part::new(name.get_ref(), &name.span());
        let name = filled_in(part, &self.indices)?;
        if let Some(known) = self.threads.named(&name) {
            return Ok(known);
        }
        if self.in_setup {
            let message = format!("thread `{name}` makes a call of the set-up");
            let help = "take `thread` out: the main thread makes all of the set-up";
            return Err(part.fault(message, "another thread", help));
        }
        let threads = self.threads.names.len();
        if threads == MOST_THREADS {
            let message = format!("`{name}` is one host thread more than {MOST_THREADS}");
            return Err(part.fault(message, "one too many", "use fewer threads"));
        }
        self.threads.names.push(name);
        self.threads.current.push(DeviceId::FIRST);
        Ok(ThreadId(threads as u16))
    }

    /// The thread of a name that another one waits for.
    pub(super) fn awaited_thread(&self, name: &Spanned<String>) -> Result<ThreadId, Fault> {
        let part = Part::new(name.get_ref(), &name.span());
        let name = filled_in(part, &self.indices)?;
        match self.threads.named(&name) {
            Some(thread) if thread == self.threads.making => {
                let message = format!("thread `{name}` waits for itself");
                let help = "say with `thread = \"...\"` which other one waits";
                Err(part.fault(message, "made by this one", help))
            }
            Some(thread) => Ok(thread),
            None => {
                let message = format!("no call before is made by a thread `{name}`");
                let known: Vec<String> =
                    self.threads.names.iter().take(8).map(|name| format!("`{name}`")).collect();
                Err(part.fault(
                    message,
                    "unknown thread",
                    "there is ".to_owned() + &known.join(", "),
                ))
            }
        }
    }
}
