//! Which of its pointers a kernel reads and which it writes, where the user says so. A recording
//! has the pointers, but does not tell what a kernel does with them.

use super::names::short;
use super::{CallKind, DeviceWork, Trace, WorkKind};
use crate::units::words;
use std::collections::BTreeSet;
use std::str::FromStr;

words! {
    /// What a kernel does with memory.
    pub enum PointerAccess {
        Read = "read",
        Write = "write",
    }
}

/// What the user says of kernels whose names contain a text: which pointers they access in one way.
/// They access no other pointer in that way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    pub kernel: String,
    /// Positions among the pointers that a launch passes, from 0 on.
    pub pointers: BTreeSet<usize>,
}

/// Why [`Trace::state_use`] refuses.
#[derive(Debug, thiserror::Error)]
pub enum KernelUseError {
    #[error("the trace has no pointers of kernels")]
    NoPointers,
    #[error("no kernel's name contains `{kernel}`")]
    NoKernel { kernel: String, known: Vec<String> },
    #[error(
        "kernels with `{kernel}` in their names get {count} pointers, so none is pointer {beyond}"
    )]
    Beyond { kernel: String, count: usize, beyond: usize },
}

impl FromStr for KernelUse {
    type Err = String;

    /// Reads `KERNEL=0,2`. Nothing behind the `=` stands for no pointer.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kernel, list) = text.rsplit_once('=').unwrap_or_default();
        if kernel.is_empty() {
            return Err("expected KERNEL=0,2: part of a kernel's name, and the positions of \
                        pointers, counted from 0"
                .to_owned());
        }
        let numbers = list.split(',').filter(|number| !number.is_empty());
        let pointers = numbers.map(|number| {
            let number = number.trim();
            number.parse().map_err(|_| format!("`{number}` is not the position of a pointer"))
        });
        Ok(Self { kernel: kernel.to_owned(), pointers: pointers.collect::<Result<_, _>>()? })
    }
}

impl Trace {
    /// Takes over what the user says of some kernels.
    ///
    /// # Errors
    /// If no kernel has such a name or such a pointer.
    pub fn state_use(
        &mut self,
        access: PointerAccess,
        stated: KernelUse,
    ) -> Result<(), KernelUseError> {
        if !self.has_pointers() {
            return Err(KernelUseError::NoPointers);
        }
        let KernelUse { kernel, pointers } = &stated;
        let here = self.work.iter().filter(|work| is_of(work, kernel));
        let most = here.map(|work| self.pointers(work).len()).max();
        let Some(count) = most else {
            let all: BTreeSet<String> = self.work.iter().filter_map(kernel_of).map(short).collect();
            let known = all.into_iter().collect();
            return Err(KernelUseError::NoKernel { kernel: kernel.clone(), known });
        };
        if let Some(&beyond) = pointers.last().filter(|&&last| last >= count) {
            return Err(KernelUseError::Beyond { kernel: kernel.clone(), count, beyond });
        }
        self.stated_uses.push((access, stated));
        Ok(())
    }

    /// Whether a kernel accesses a pointer in a way, if the user said so.
    pub(super) fn stated_use(
        &self,
        work: &DeviceWork,
        at: usize,
        access: PointerAccess,
    ) -> Option<bool> {
        let said = self.stated_uses.iter().rev();
        let mut said = said.filter(|(of, stated)| *of == access && is_of(work, &stated.kernel));
        said.next().map(|(_, stated)| stated.pointers.contains(&at))
    }

    /// The pointers that the launch of a kernel passed.
    pub(super) fn pointers(&self, work: &DeviceWork) -> &[u64] {
        match work.call.map(|at| &self.calls[at].kind) {
            Some(CallKind::Launch { pointers, .. }) => pointers,
            _ => &[],
        }
    }

    fn has_pointers(&self) -> bool {
        self.work.iter().any(|work| !self.pointers(work).is_empty())
    }
}

fn kernel_of(work: &DeviceWork) -> Option<&str> {
    match &work.kind {
        WorkKind::Kernel { name, .. } => Some(name),
        _ => None,
    }
}

fn is_of(work: &DeviceWork, kernel: &str) -> bool {
    kernel_of(work).is_some_and(|name| name.contains(kernel))
}
