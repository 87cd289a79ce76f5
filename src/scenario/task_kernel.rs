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
    /// What is true of a kernel of the library, or of one of the user's own.
    fn either<'t, T>(
        &'t self,
        library: impl FnOnce(Kernel, &'t Arguments) -> T,
        own: impl FnOnce(&'t OwnWork) -> T,
    ) -> T {
        match self {
            Self::Library { kernel, arguments } => library(*kernel, arguments),
            Self::Own(work) => own(work),
        }
    }

    /// The name by which a scenario asks for it.
    pub fn name(&self) -> &str {
        self.either(|kernel, _| kernel.name(), |own| own.declared.kernel.name.as_str())
    }

    /// The kernel of the library, if it is one.
    pub fn library(&self) -> Option<(Kernel, &Arguments)> {
        self.either(|kernel, arguments| Some((kernel, arguments)), |_| None)
    }

    pub fn own_work(&self) -> Option<&OwnWork> {
        self.either(|_, _| None, Some)
    }

    /// How the output relates to the inputs. A kernel of the user's own that is cut has one output
    /// element for each input element.
    pub fn shape(&self) -> Shape {
        self.either(|kernel, _| kernel.shape(), |_| Shape::Map)
    }

    /// How many elements belong together, so that no chunk ends between them.
    pub fn grain(&self) -> u64 {
        self.either(|kernel, arguments| kernel.grain(arguments), |_| 1)
    }

    /// How many neighbours on each side an output element depends on, in one iteration.
    pub fn halo(&self) -> u64 {
        let own =
            |own: &OwnWork| own.declared.kernel.elementwise.as_ref().map_or(0, |one| one.halo);
        self.either(|kernel, arguments| kernel.halo(arguments), own)
    }

    /// The number of elements of an input of which any output element may depend on all.
    pub fn whole(&self, input: usize) -> Option<u64> {
        let own = |own: &OwnWork| own.whole.get(input).copied().flatten();
        self.either(|kernel, arguments| kernel.whole(input, arguments), own)
    }

    /// Whether the work can be cut into chunks along the elements.
    pub fn can_be_cut(&self) -> bool {
        self.either(
            |kernel, _| kernel.can_be_cut(),
            |own| own.declared.kernel.elementwise.is_some(),
        )
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
