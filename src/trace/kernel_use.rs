//! Which of its pointers a kernel reads and which it writes, where the user says so. A recording
//! has the pointers, but does not tell what a kernel does with them.

use super::names::short;
use super::stated::{KernelUse, PointerAccess};
use super::{CallKind, DeviceWork, Trace, WorkKind};
use std::collections::BTreeSet;

/// Why [`Trace::state_use`] refuses.
#[derive(Debug, thiserror::Error)]
pub enum KernelUseError {
    #[error("the trace does not contain the kernels' pointers")]
    NoPointers,
    #[error("no kernel's name contains `{kernel}`")]
    NoKernel { kernel: String, known: Vec<String> },
    #[error(
        "kernels with `{kernel}` in their names take {count} pointers, so there is no pointer \
         {beyond}"
    )]
    Beyond { kernel: String, count: usize, beyond: usize },
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
