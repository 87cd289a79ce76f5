//! What families that deal chunks over streams and GPUs have in common.

use crate::machine::DeviceId;

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

/// Into how many pieces each batch is cut, in words.
pub(super) fn chunks_in_words(chunks: u64) -> String {
    match chunks {
        1 => "Each batch is a single chunk.".to_owned(),
        chunks => format!("Each batch is split into {chunks} chunks."),
    }
}
