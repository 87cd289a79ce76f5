//! What it costs to make what a plan needs, and to use it for the first time.

use super::prices::priced;
use super::{Estimate, Known, Profile, Unknown};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Host time of making what a plan needs. Profiles of early versions have none of what is measured
/// in new processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupCosts {
    pub stream: Option<Estimate>,
    pub event: Option<Estimate>,
    /// Making a context while another one is in use. In a profile from a table: a process's first
    /// use of the GPU.
    pub context: Option<Estimate>,
    /// Loading a module that NVRTC compiled and that the driver has in its cache.
    pub module: Option<Estimate>,
    /// A new process's first call of the driver, up to a context that can be used.
    pub new_context: Option<Estimate>,
    /// Like `module`, for the first time in a new process.
    pub new_module: Option<Estimate>,
    /// How much longer than a later one the first launch of a module's first kernel takes, with
    /// the wait for its end.
    pub first_launch: Option<Estimate>,
    /// Like `first_launch`, for a further kernel of the module.
    pub next_kernel: Option<Estimate>,
}

priced! {
    SetupCosts {
        No: stream, event, context, module, new_context, new_module, first_launch, next_kernel;
    }
}

impl Profile {
    /// What a new process pays for its context on one GPU, if that is known.
    pub fn first_context(&self) -> Option<Estimate> {
        self.setup.new_context.or(self.setup.context)
    }

    /// What a new process pays for a context on each of some GPUs. Starting the driver is part of
    /// the first.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn contexts(&self, devices: u64) -> Known<Span> {
        let unknown = || Unknown::new("the time to create a context");
        let first = self.first_context().ok_or_else(unknown)?;
        let further = self.setup.context.unwrap_or(first);
        Ok(first.span() + further.span() * devices.saturating_sub(1))
    }

    /// What a new process pays for loading the kernels' module on one GPU.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn first_module(&self) -> Known<Span> {
        let module = self.setup.new_module.or(self.setup.module);
        let module = module.ok_or_else(|| Unknown::new("the time to load the kernels' module"));
        Ok(module?.span())
    }

    /// How much longer the first launches of so many kernels of a module take than later ones.
    /// Nothing where no new process was measured.
    pub fn first_launches(&self, kernels: u64) -> Span {
        let cost = |estimate: Option<Estimate>| estimate.map_or(Span::ZERO, |one| one.span());
        match kernels.checked_sub(1) {
            Some(next) => cost(self.setup.first_launch) + cost(self.setup.next_kernel) * next,
            None => Span::ZERO,
        }
    }
}
