//! What a task runs: a kernel of the library, or one of the user's own.

use crate::kernels::{Arguments, Kernel, Shape};
use crate::program::spelled::DeclaredKernel;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kernel of a task with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskKernel {
    Library { kernel: Kernel, arguments: Arguments },
    Own(OwnWork),
}

/// A kernel of a `[[kernel]]` table as a task launches it.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnWork {
    pub declared: Arc<DeclaredKernel>,
    /// The task's arguments.
    pub numbers: BTreeMap<String, f64>,
    /// How many elements a launch works on, if the kernel's rule says so. Otherwise, as many as the
    /// task writes.
    pub elements: Option<u64>,
    /// For each input, how many elements it has if it is read whole.
    pub whole: Vec<Option<u64>>,
}

impl TaskKernel {
    /// The name by which a scenario asks for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Library { kernel, .. } => kernel.name(),
            Self::Own(work) => &work.declared.kernel.name,
        }
    }

    /// The kernel of the library, if it is one.
    pub const fn library(&self) -> Option<(Kernel, &Arguments)> {
        match self {
            Self::Library { kernel, arguments } => Some((*kernel, arguments)),
            Self::Own(_) => None,
        }
    }

    pub const fn own_work(&self) -> Option<&OwnWork> {
        match self {
            Self::Library { .. } => None,
            Self::Own(work) => Some(work),
        }
    }

    /// How the output relates to the inputs. A kernel of the user's own that is cut has one output
    /// element for each input element.
    pub const fn shape(&self) -> Shape {
        match self {
            Self::Library { kernel, .. } => kernel.shape(),
            Self::Own(_) => Shape::Map,
        }
    }

    /// How many elements belong together, so that no chunk ends between them.
    pub const fn grain(&self) -> u64 {
        match self {
            Self::Library { kernel, arguments } => kernel.grain(arguments),
            Self::Own(_) => 1,
        }
    }

    /// How many neighbours on each side an output element depends on, in one iteration.
    pub fn halo(&self) -> u64 {
        match self {
            Self::Library { kernel, arguments } => kernel.halo(arguments),
            Self::Own(work) => work.declared.kernel.elementwise.as_ref().map_or(0, |one| one.halo),
        }
    }

    /// The number of elements of an input of which any output element may depend on all.
    pub fn whole(&self, input: usize) -> Option<u64> {
        match self {
            Self::Library { kernel, arguments } => kernel.whole(input, arguments),
            Self::Own(work) => work.whole.get(input).copied().flatten(),
        }
    }

    /// Whether the work can be cut into chunks along the elements.
    pub fn can_be_cut(&self) -> bool {
        match self {
            Self::Library { kernel, .. } => kernel.can_be_cut(),
            Self::Own(work) => work.declared.kernel.elementwise.is_some(),
        }
    }

    /// Whether it is cut if the task does not say. For a kernel of the user's own, nobody knows
    /// what that would do to its code.
    pub fn is_cut_unasked(&self) -> bool {
        self.library().is_some_and(|(kernel, _)| kernel.goes_by_elements())
    }

    /// Whether all its buffers may grow and shrink together: rules of a user's own kernel that
    /// cannot be cut may name sizes.
    pub fn scales(&self) -> bool {
        self.library().is_some() || self.can_be_cut()
    }
}
