//! What families that deal chunks over streams and GPUs have in common.

use super::ashore::Ashore;
use super::builder::{Builder, Slot};
use super::chunk::Chunk;
use super::crossing::Way;
use crate::machine::{DeviceId, Direction, StreamId};

/// How several GPUs get the operands that all chunks read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// Each GPU copies them from the host.
    Host,
    /// The first GPU copies them from the host, and the others from the first.
    Peers,
}

/// How each batch is cut, and dealt over GPUs.
#[derive(Clone, Copy)]
pub(super) struct Dealing {
    /// Pieces of one batch.
    pub chunks: u64,
    /// GPUs that get a chunk in turn.
    pub devices: usize,
    /// How each GPU gets the operands that all chunks read.
    pub spread: Spread,
}

impl Dealing {
    pub const fn to_one_gpu(chunks: u64) -> Self {
        Self { chunks, devices: 1, spread: Spread::Host }
    }

    /// The device of the chunk, stream or slot of this number.
    pub const fn device(self, index: usize) -> DeviceId {
        DeviceId(index % self.devices)
    }
}

/// Copies a chunk's inputs to the GPU, but for those that kernels use where they are.
pub(super) fn copy_in(builder: &mut Builder<'_>, stream: StreamId, slot: &Slot, chunk: &Chunk) {
    for id in builder.copied_in() {
        let home = builder.home(chunk, id).expect("the host is its home");
        let here = builder.location(slot, chunk, id);
        // What all batches share stays once it is there.
        let is_there = chunk.batch > 0 && builder.workload.buffer(id).shared;
        if here.allocation != home.allocation && !is_there {
            let way = Way { from: home, to: here };
            builder.cross(stream, Direction::HostToDevice, way, id, &chunk.needs[id.0]);
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
            let way = Way { from: here, to: target };
            builder.cross(stream, Direction::DeviceToHost, way, id, &chunk.owns[id.0]);
        }
    }
}

/// Into how many pieces each batch is cut, in words.
pub(super) fn chunks_in_words(chunks: u64) -> String {
    match chunks {
        1 => "Each batch is a single chunk.".to_owned(),
        chunks => format!("Each batch is split into {chunks} chunks."),
    }
}
