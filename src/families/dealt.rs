//! What families that deal chunks over streams and GPUs have in common.

use super::ashore::Ashore;
use super::builder::{Builder, Slot};
use super::chunk::{Chunk, chunks_of};
use super::shared::Spread;
use crate::machine::{Direction, StreamId};

/// The number of GPUs that chunks are dealt over, and how each gets the operands that all chunks
/// read.
pub(super) type Gpus = (usize, Spread);

pub(super) const ONE_GPU: Gpus = (1, Spread::Host);

/// Copies a chunk's inputs to the GPU, but for those that kernels use where they are.
pub(super) fn copy_in(builder: &mut Builder<'_>, stream: StreamId, slot: &Slot, chunk: &Chunk) {
    for id in builder.copied_in() {
        let home = builder.home(chunk, id).expect("the host is its home");
        let here = builder.location(slot, chunk, id);
        // What all batches share stays once it is there.
        let is_there = chunk.batch > 0 && builder.workload.buffer(id).shared;
        if here.allocation != home.allocation && !is_there {
            let range = (id, &chunk.needs[id.0]);
            builder.cross(stream, Direction::HostToDevice, (home, here), range);
        }
    }
}

/// Copies a chunk's results to the host, but for those that kernels have written there.
pub(super) fn copy_out(
    builder: &mut Builder<'_>,
    stream: StreamId,
    slot: &Slot,
    chunk: &Chunk,
    ashore: &Ashore,
) {
    for id in builder.copied_out() {
        let home = builder.home(chunk, id).expect("the host is its home");
        let target = ashore.target(builder, chunk, id).unwrap_or(home);
        let here = builder.location(slot, chunk, id);
        if here.allocation != target.allocation {
            let range = (id, &chunk.owns[id.0]);
            builder.cross(stream, Direction::DeviceToHost, (here, target), range);
        }
    }
}

pub(super) fn dealt_chunks(builder: &Builder<'_>, chunks: u64) -> Result<Vec<Chunk>, String> {
    chunks_of(builder.workload, chunks)
}

/// Into how many pieces each batch is cut, in words.
pub(super) fn chunks_in_words(chunks: u64) -> String {
    match chunks {
        1 => "Each batch is a single chunk.".to_owned(),
        chunks => format!("Each batch is split into {chunks} chunks."),
    }
}
