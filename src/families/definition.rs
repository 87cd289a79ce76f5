//! What a family says of itself: the file of each holds all that is known of it.

use super::Family;
use super::builder::Builder;
use crate::machine::Side;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};
use std::collections::BTreeSet;

/// Into how many pieces batches are cut, and for how many GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Nothing is cut, and nothing overlaps.
    Whole,
    /// Each batch is cut into so many chunks. One chunk overlaps with those of other batches.
    Chunks(u64),
    /// Chunks are dealt over several GPUs.
    OverGpus { chunks: u64, devices: usize },
}

/// Whether to capture a family's plans as CUDA graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsGraph {
    /// It cannot be done: the host waits or computes in the middle, say.
    Never,
    /// Only if the scenario asks for graphs.
    OnRequest,
    Always,
}

/// Whether to try a plan with pageable memory, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    Never,
    /// With the middle one of the numbers of chunks that are tried.
    OnceCut,
    Always,
}

/// What is known of a plan by its family and parameters alone.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a question with two answers")]
pub struct Traits {
    pub name: FamilyName,
    /// Pieces into which each batch is cut.
    pub chunks: u64,
    pub devices: usize,
    /// The number of buffers that chunks or pieces use in turn. `None`: each has its own.
    pub ring: Option<usize>,
    /// Who computes.
    pub side: Side,
    /// Whether to try it only if the scenario asks for its family by name. Plans that no runs have
    /// been scored against yet are not chosen unasked.
    pub is_on_request: bool,
    /// Whether device memory for a few chunks is enough, however many there are.
    pub saves_device_memory: bool,
    pub as_graph: AsGraph,
    pub pageable: Tries,
    /// Whether to try it with pinned memory.
    pub tries_pinned: bool,
    /// Whether its data goes through pinned memory that it takes for itself, whatever kind the data
    /// is in.
    pub takes_pinned: bool,
    /// Whether a plan of another family that comes to the same calls gives them its name if data
    /// lives on the device.
    pub yields_on_device: bool,
}

impl Traits {
    /// What holds for most plans: one GPU does whole batches, in pinned memory.
    pub const fn of(name: FamilyName) -> Self {
        Self {
            name,
            chunks: 1,
            devices: 1,
            ring: None,
            side: Side::Gpu,
            is_on_request: false,
            saves_device_memory: false,
            as_graph: AsGraph::Never,
            pageable: Tries::Never,
            tries_pinned: true,
            takes_pinned: false,
            yields_on_device: false,
        }
    }
}

/// A family of plans. A value of it has the parameters of one plan.
pub trait Definition {
    fn traits(&self) -> Traits;

    /// The plan to name where none is sensible.
    fn smallest() -> Self
    where
        Self: Sized;

    /// The plans to try for a division of the work. A family without parameters has one.
    fn choices(_: &Workload, division: Division) -> Vec<Self>
    where
        Self: Sized,
    {
        if division == Division::Whole { vec![Self::smallest()] } else { Vec::new() }
    }

    /// Issues the calls of the plan.
    ///
    /// # Errors
    /// The reason why the workload cannot be done like this.
    fn build(&self, builder: Builder<'_>) -> Result<Program, String>;

    /// What the plan does, in sentences.
    fn in_words(&self, workload: &Workload) -> Vec<String>;

    /// What follows the family's name in the plan's: `16 x4 depth`.
    fn parameters(&self) -> Option<String> {
        None
    }

    /// Plans of the family that differ in one parameter by a step.
    fn neighbours(&self) -> Vec<Self>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

impl Family {
    pub fn name(&self) -> FamilyName {
        self.traits().name
    }

    pub fn chunks(&self) -> u64 {
        self.traits().chunks
    }

    pub fn devices(&self) -> usize {
        self.traits().devices
    }

    pub fn is_on_cpu(&self) -> bool {
        self.traits().side == Side::Cpu
    }
}

/// Numbers of chunks a step from `chunks`: large steps and small ones.
pub(super) fn near(chunks: u64) -> Vec<u64> {
    let eighths = [4, 6, 7, 9, 10, 12, 16].map(|of| chunks * of / 8);
    let near: BTreeSet<u64> = eighths.into_iter().chain([chunks - 1, chunks + 1]).collect();
    near.into_iter().filter(|&one| one > 0 && one != chunks).collect()
}

/// The most streams that a plan is tried with.
pub(super) const MOST_STREAMS: usize = 32;

/// Numbers from `least` to `most` a step from `number`.
pub(super) fn steps(number: usize, least: usize, most: usize) -> Vec<usize> {
    let mut steps = vec![number / 2, number.saturating_sub(1), number + 1, number * 2];
    steps.retain(|&one| (least..=most).contains(&one) && one != number);
    steps.dedup();
    steps
}

/// Lists the families: makes an enum of them, which knows each one's definition.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// How a workload is carried out.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Family {
            $($(#[$doc])* $family($family),)*
        }

        $(impl From<$family> for Family {
            fn from(family: $family) -> Self {
                Self::$family(family)
            }
        })*

        impl Family {
            /// One plan of every family, with the fewest pieces.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$family($family::smallest()),)*]
            }

            /// The plans of all families to try for a division of the work.
            pub fn choices(workload: &Workload, division: Division) -> Vec<Self> {
                let mut all = Vec::new();
                $(all.extend($family::choices(workload, division).into_iter().map(Self::from));)*
                all
            }

            /// Plans that differ in one parameter by a step.
            pub fn neighbours(self) -> Vec<Self> {
                match self {
                    $(Self::$family(family) => {
                        family.neighbours().into_iter().map(Self::from).collect()
                    })*
                }
            }
        }

        impl Deref for Family {
            type Target = dyn Definition;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$family(family) => family,)*
                }
            }
        }
    };
}
pub(super) use families;
