//! One stream per engine, joined by events, with device memory for every chunk or a ring of it.

use super::ashore::Ashore;
use super::builder::{Builder, Slot, room};
use super::chunk::{Chunk, chunks_of};
use super::dealt::{Dealing, chunks_in_words};
use super::definition::{AsGraph, Definition, Division, Traits, near};
use super::on_cpu::OnCpu;
use super::shared::Shared;
use crate::machine::{DeviceId, StreamId};
use crate::program::{Place, Program};
use crate::scenario::{FamilyName, Workload};

/// One stream per engine, joined by events; memory for every chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByEngine {
    /// Pieces of one batch.
    pub chunks: u64,
}

/// What the streams do, in words.
pub(super) const STREAMS: &str = "There is one stream for copies in, one for kernels and one \
                                  for copies out. Events connect them: kernels wait for their \
                                  chunk's copy in, and the copy out waits for the kernels.";

impl Definition for ByEngine {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            as_graph: AsGraph::Always,
            ..Traits::of(FamilyName::ByEngine)
        }
    }

    fn smallest() -> Self {
        Self { chunks: 1 }
    }

    fn choices(_: &Workload, division: Division) -> Vec<Self> {
        let Division::Chunks(chunks) = division else { return Vec::new() };
        vec![Self { chunks }]
    }

    fn neighbours(&self) -> Vec<Self> {
        near(self.chunks).into_iter().map(|chunks| Self { chunks }).collect()
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        by_engine(builder, Dealing::to_one_gpu(self.chunks), None)
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let memory = "Every chunk has its own device memory.";
        vec![chunks_in_words(self.chunks), STREAMS.to_owned(), memory.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        Some(self.chunks.to_string())
    }
}

pub(super) fn by_engine(
    builder: Builder<'_>,
    dealing: Dealing,
    ring: Option<usize>,
) -> Result<Program, String> {
    let all = chunks_of(builder.workload, dealing.chunks)?;
    let ring = ring.unwrap_or(all.len());
    if ring > all.len() {
        return Err(format!("a ring of {ring} exceeds the number of chunks, {}", all.len()));
    }
    with_ring(builder, [&all, &all], dealing, ring, |_, _| Ok(()))
}

/// Issues some of all chunks for the GPU, with a ring of so many sets of device buffers.
/// `meanwhile` is what the host does before it waits for them.
pub(super) fn with_ring(
    mut builder: Builder<'_>,
    [all, on_gpu]: [&[Chunk]; 2],
    dealing: Dealing,
    ring: usize,
    meanwhile: impl FnOnce(&mut Builder<'_>, &Ashore) -> Result<(), String>,
) -> Result<Program, String> {
    let devices = (0..dealing.devices).map(DeviceId);
    let streams: Vec<[StreamId; 3]> =
        devices.map(|device| [(); 3].map(|()| builder.stream_on(device))).collect();
    let on_cpu = OnCpu::new(&mut builder, on_gpu)?;
    let mut shared = Shared::new(&mut builder, dealing, false);
    let room = room(on_gpu);
    let place = |index| Place::Device(dealing.device(index));
    let slots: Vec<Slot> = (0..ring).map(|index| builder.slot(&room, place(index))).collect();
    let ashore = Ashore::new(&mut builder, dealing.chunks, on_cpu);
    let (comes, goes) = (builder.copied_in(), builder.copied_out());
    let updates = comes.iter().any(|id| goes.contains(id));
    let (mut computed, mut left) = (Vec::new(), Vec::new());
    for (index, chunk) in on_gpu.iter().enumerate() {
        let (slot, [inward, compute, outward]) =
            (&slots[index % ring], streams[index % streams.len()]);
        ashore.prepare(&mut builder, chunk)?;
        let before = index.checked_sub(ring);
        let brings = shared.bring(&mut builder, inward, chunk);
        if brings || !comes.is_empty() {
            if let Some(before) = before {
                // The slot's inputs are free once its last kernel has read them,
                // or, where they were updated in place, once they have left.
                let event = if updates { left[before] } else { computed[before] };
                builder.wait(inward, event);
            }
            builder.copy_in(inward, slot, chunk);
            let event = builder.record(inward);
            builder.wait(compute, event);
        }
        if let (Some(before), false) = (before, goes.is_empty()) {
            builder.wait(compute, left[before]);
        }
        builder.launch_all(compute, slot, chunk)?;
        computed.push(builder.record(compute));
        if !goes.is_empty() {
            builder.wait(outward, computed[index]);
            builder.copy_out(outward, slot, chunk, &ashore);
            // Nobody waits for the copies of the last chunk in each slot.
            if index + ring < on_gpu.len() {
                left.push(builder.record(outward));
            }
        }
    }
    meanwhile(&mut builder, &ashore)?;
    for [_, compute, outward] in streams {
        builder.synchronize(if goes.is_empty() { compute } else { outward });
    }
    ashore.bring_home(&mut builder, all, on_gpu)?;
    Ok(builder.finish())
}
