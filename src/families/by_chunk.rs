//! A chunk's copies and kernels in one stream, chunks dealt over streams. With one chunk and one
//! stream, this is the resident family.

use super::ashore::Ashore;
use super::builder::{Builder, Slot, room};
use super::chunk::chunks_of;
use super::dealt::{Dealing, chunks_in_words};
use super::definition::{AsGraph, Definition, Division, MOST_STREAMS, Traits, Tries, near, steps};
use super::on_cpu::OnCpu;
use super::shared::Shared;
use crate::machine::StreamId;
use crate::program::{Place, Program};
use crate::scenario::{FamilyName, Workload};

/// In which order a chunked plan issues its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Issue {
    /// All calls of a chunk, then the next chunk.
    DepthFirst,
    /// One kind of call for all chunks, then the next kind.
    BreadthFirst,
}

/// A chunk's copies and kernels in one stream, chunks dealt over streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByChunk {
    /// Pieces of one batch.
    pub chunks: u64,
    pub streams: usize,
    pub issue: Issue,
}

impl Definition for ByChunk {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            // A graph has dependencies instead of streams, so of plans that differ in streams only,
            // one is enough.
            as_graph: match (self.streams, self.issue) {
                (4, Issue::DepthFirst) => AsGraph::Always,
                _ => AsGraph::OnRequest,
            },
            // Copies of pageable memory hold the host thread, so no order of calls makes them
            // overlap. One chunked plan is enough to show it.
            pageable: match (self.streams, self.issue) {
                (2, Issue::DepthFirst) => Tries::OnceCut,
                _ => Tries::Never,
            },
            ..Traits::of(FamilyName::ByChunk)
        }
    }

    fn smallest() -> Self {
        Self { chunks: 1, streams: 2, issue: Issue::DepthFirst }
    }

    fn choices(workload: &Workload, division: Division) -> Vec<Self> {
        let Division::Chunks(chunks) = division else { return Vec::new() };
        let in_all = chunks * workload.batches;
        let streams = [2, 4].into_iter().filter(|&streams| in_all >= streams as u64);
        let depth_first = streams.map(|streams| (streams, Issue::DepthFirst));
        let all = depth_first.chain([(4, Issue::BreadthFirst)]);
        all.map(|(streams, issue)| Self { chunks, streams, issue }).collect()
    }

    fn neighbours(&self) -> Vec<Self> {
        let issue = match self.issue {
            Issue::DepthFirst => Issue::BreadthFirst,
            Issue::BreadthFirst => Issue::DepthFirst,
        };
        let cut = near(self.chunks).into_iter().map(|chunks| Self { chunks, ..*self });
        let streams = steps(self.streams, 2, MOST_STREAMS).into_iter();
        let streams = streams.map(|streams| Self { streams, ..*self });
        cut.chain(streams).chain([Self { issue, ..*self }]).collect()
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        by_chunk(builder, Dealing::to_one_gpu(self.chunks), self.streams, self.issue)
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let dealt = format!("Chunks are assigned to {} streams in turn.", self.streams);
        let order = match self.issue {
            Issue::DepthFirst => {
                "Calls are issued depth-first: the copy in, kernels and copy out of one chunk, \
                 then those of the next."
            }
            Issue::BreadthFirst => {
                "Calls are issued breadth-first: all copies in, then all kernels, then all copies \
                 out."
            }
        };
        vec![chunks_in_words(self.chunks), dealt, order.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        let issue = match self.issue {
            Issue::DepthFirst => "depth",
            Issue::BreadthFirst => "breadth",
        };
        Some(format!("{} x{} {issue}", self.chunks, self.streams))
    }
}

pub(super) fn by_chunk(
    mut builder: Builder<'_>,
    dealing: Dealing,
    streams: usize,
    issue: Issue,
) -> Result<Program, String> {
    let all = chunks_of(builder.workload, dealing.chunks)?;
    let streams = streams.min(all.len());
    let streams: Vec<StreamId> =
        (0..streams).map(|index| builder.stream_on(dealing.device(index))).collect();
    let on_cpu = OnCpu::new(&mut builder, &all)?;
    let mut shared = Shared::new(&mut builder, dealing, streams.len() > dealing.devices);
    // Chunks of a wave are all copied in before the first kernel of one is launched.
    let (wave, slots) = match issue {
        Issue::DepthFirst => (1, streams.len()),
        Issue::BreadthFirst => (all.len().max(1), all.len()),
    };
    let room = room(&all);
    let place = |index| Place::Device(dealing.device(index));
    let slots: Vec<Slot> = (0..slots).map(|index| builder.slot(&room, place(index))).collect();
    let ashore = Ashore::new(&mut builder, dealing.chunks, on_cpu);
    let work: Vec<(usize, StreamId, &Slot)> =
        (0..all.len()).map(|i| (i, streams[i % streams.len()], &slots[i % slots.len()])).collect();
    for wave in work.chunks(wave) {
        for &(index, stream, slot) in wave {
            let chunk = &all[index];
            if let Some(before) = index.checked_sub(slots.len()) {
                ashore.bring_home_early(&mut builder, stream, &all[before])?;
            }
            ashore.prepare(&mut builder, chunk)?;
            shared.bring(&mut builder, stream, chunk);
            builder.copy_in(stream, slot, chunk);
        }
        for &(index, stream, slot) in wave {
            builder.launch_all(stream, slot, &all[index])?;
        }
        for &(index, stream, slot) in wave {
            builder.copy_out(stream, slot, &all[index], &ashore);
        }
    }
    let left = &all[all.len() - slots.len()..];
    for stream in streams {
        builder.synchronize(stream);
    }
    ashore.bring_home(&mut builder, &all, left)?;
    Ok(builder.finish())
}
