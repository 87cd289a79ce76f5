//! Inputs in once, outputs out once, one stream.

use super::builder::Builder;
use super::by_chunk::{Issue, by_chunk};
use super::dealt::Dealing;
use super::definition::{AsGraph, Definition, Traits, Tries};
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};

/// Inputs in once, outputs out once, one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resident;

impl Definition for Resident {
    fn traits(&self) -> Traits {
        Traits {
            as_graph: AsGraph::Always,
            pageable: Tries::Always,
            ..Traits::of(FamilyName::Resident)
        }
    }

    fn smallest() -> Self {
        Self
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        by_chunk(builder, Dealing::to_one_gpu(1), 1, Issue::DepthFirst)
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        vec![
            "Everything is in one stream: inputs are copied to the GPU once, all kernels run, \
             and results are copied back once. Intermediate results stay on the GPU."
                .to_owned(),
        ]
    }
}
