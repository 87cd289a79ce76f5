//! What a family says of itself: the file of each holds all that is known of it.

use super::builder::Builder;
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};

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

/// What streams the calls of a plan lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// A chunk's copies and kernels lie in one stream, of so many.
    OfChunks(usize),
    /// Kernels have a stream of their own, and copies others.
    OfEngines,
}

/// A family of plans. A value of it has the parameters of one plan.
pub trait Definition {
    fn name(&self) -> FamilyName;

    /// The plan to name where none is sensible.
    fn smallest() -> Self
    where
        Self: Sized;

    /// The plans to try for a division of the work.
    fn choices(workload: &Workload, division: Division) -> Vec<Self>
    where
        Self: Sized;

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

    /// Pieces into which each batch is cut.
    fn chunks(&self) -> u64 {
        1
    }

    fn devices(&self) -> usize {
        1
    }

    /// The number of buffers that chunks or pieces use in turn. `None`: each has its own.
    fn ring(&self) -> Option<usize> {
        None
    }

    fn is_on_cpu(&self) -> bool {
        false
    }

    /// What streams its calls lie in, if one GPU does everything chunk by chunk: copies each in,
    /// goes through its tasks, and copies each out.
    fn lanes(&self) -> Option<Lanes> {
        None
    }

    /// Whether to try it only if the scenario asks for its family by name. Plans that no runs have
    /// been scored against yet are not chosen unasked.
    fn is_on_request(&self) -> bool {
        false
    }

    /// Whether the CPU computes a part of the tasks.
    fn shares_with_cpu(&self) -> bool {
        self.is_on_cpu()
    }

    /// Whether device memory for a few chunks is enough, however many there are.
    fn saves_device_memory(&self) -> bool {
        false
    }

    fn as_graph(&self) -> AsGraph {
        AsGraph::Never
    }

    /// Whether to try it with pageable memory, too. `typical` is the middle one of the numbers of
    /// chunks that are tried.
    fn tries_pageable(&self, typical: u64) -> bool {
        let _ = typical;
        false
    }

    /// Whether to try it with pinned memory.
    fn tries_pinned(&self) -> bool {
        true
    }

    /// Whether its data goes through pinned memory that it takes for itself, whatever kind the data
    /// is in.
    fn takes_pinned(&self) -> bool {
        false
    }

    /// Plans of the family that differ in one parameter by a step.
    fn neighbours(&self) -> Vec<Self>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Whether a plan of another family that comes to the same calls gives them its name.
    fn yields(&self, workload: &Workload) -> bool {
        let _ = workload;
        false
    }
}

/// Numbers of chunks a step from `chunks`: large steps and small ones.
pub(super) fn near(chunks: u64) -> Vec<u64> {
    let eighths = |of: u64| chunks * of / 8;
    let steps = [eighths(4), eighths(6), eighths(7), chunks - 1, chunks + 1, eighths(9)];
    let mut near: Vec<u64> = [&steps[..], &[eighths(10), eighths(12), eighths(16)]].concat();
    near.retain(|&one| one > 0 && one != chunks);
    near.sort_unstable();
    near.dedup();
    near
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
