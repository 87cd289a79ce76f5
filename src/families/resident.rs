//! Inputs in once, outputs out once, one stream.

use super::builder::Builder;
use super::by_chunk::{Issue, by_chunk};
use super::dealt::Dealing;
use super::definition::{AsGraph, Definition, Division, Lanes};
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};

/// Inputs in once, outputs out once, one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resident;

impl Definition for Resident {
    fn name(&self) -> FamilyName {
        FamilyName::Resident
    }

    fn smallest() -> Self {
        Self
    }

    fn choices(_: &Workload, division: Division) -> Vec<Self> {
        if division == Division::Whole { vec![Self] } else { Vec::new() }
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        by_chunk(builder, Dealing::to_one_gpu(1), 1, Issue::DepthFirst)
    }

    fn lanes(&self) -> Option<Lanes> {
        Some(Lanes::OfChunks(1))
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        vec![
            "Everything is in one stream: inputs are copied to the GPU once, all kernels run, \
             and results are copied back once. Intermediate results stay on the GPU."
                .to_owned(),
        ]
    }

    fn as_graph(&self) -> AsGraph {
        AsGraph::Always
    }

    fn tries_pageable(&self, _: u64) -> bool {
        true
    }
}
