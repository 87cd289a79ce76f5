//! By engine with a ring of device buffers, which bounds device memory.

use super::builder::Builder;
use super::by_engine::{STREAMS, by_engine};
use super::dealt::{Dealing, chunks_in_words};
use super::definition::{AsGraph, Definition, Division, MOST_STREAMS, Traits, near, steps};
use crate::program::Program;
use crate::scenario::{FamilyName, Workload};

/// By engine with a ring of device buffers: bounded device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffered {
    /// Pieces of one batch.
    pub chunks: u64,
    pub ring: usize,
}

impl Definition for Buffered {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            ring: Some(self.ring),
            saves_device_memory: true,
            as_graph: AsGraph::OnRequest,
            ..Traits::of(FamilyName::Buffered)
        }
    }

    fn smallest() -> Self {
        Self { chunks: 1, ring: 2 }
    }

    fn choices(workload: &Workload, division: Division) -> Vec<Self> {
        let Division::Chunks(chunks) = division else { return Vec::new() };
        let in_all = chunks * workload.batches;
        let rings = [2, 3].into_iter().filter(|&ring| in_all > ring as u64);
        rings.map(|ring| Self { chunks, ring }).collect()
    }

    fn neighbours(&self) -> Vec<Self> {
        let cut = near(self.chunks).into_iter().map(|chunks| Self { chunks, ..*self });
        let rings = steps(self.ring, 2, MOST_STREAMS).into_iter();
        cut.chain(rings.map(|ring| Self { ring, ..*self })).collect()
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        by_engine(builder, Dealing::to_one_gpu(self.chunks), Some(self.ring))
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let ring = format!(
            "There are {} sets of device buffers, used in turn. A set is reused once its \
             previous chunk is done.",
            self.ring
        );
        vec![chunks_in_words(self.chunks), STREAMS.to_owned(), ring]
    }

    fn parameters(&self) -> Option<String> {
        Some(format!("{} ring {}", self.chunks, self.ring))
    }
}
