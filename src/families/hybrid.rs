//! A share of the chunks on the CPU, while the GPU has the others.

use super::ashore::carry;
use super::builder::{Builder, room};
use super::by_engine::{STREAMS, with_ring};
use super::chunk::{Chunk, chunks_of};
use super::dealt::{Dealing, chunks_in_words};
use super::definition::{Definition, Division, Traits, near};
use super::on_cpu;
use crate::machine::{HostMemory, Side};
use crate::program::{BufferId, Place, Program};
use crate::scenario::{FamilyName, Home, TaskId, Workload};

/// The host issues the GPU's chunks, computes its own, and then waits for the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hybrid {
    /// Pieces of one batch.
    pub chunks: u64,
    /// How many pieces of all batches the CPU has: the last ones.
    pub on_cpu: u64,
}

/// Shares of the CPU to try, in eighths. The search tries others around the best.
const EIGHTHS: [u64; 4] = [1, 2, 4, 6];
/// Sets of device buffers.
const RING: usize = 3;

impl Definition for Hybrid {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            is_on_request: true,
            side: Side::Both,
            ..Traits::of(FamilyName::Hybrid)
        }
    }

    fn smallest() -> Self {
        Self { chunks: 2, on_cpu: 1 }
    }

    fn choices(workload: &Workload, division: Division) -> Vec<Self> {
        let Division::Chunks(chunks) = division else { return Vec::new() };
        let in_all = chunks * workload.batches;
        let mut shares: Vec<u64> =
            EIGHTHS.map(|eighths| (in_all * eighths).div_ceil(8)).into_iter().collect();
        shares.dedup();
        shares.retain(|&on_cpu| on_cpu < in_all);
        shares.into_iter().map(|on_cpu| Self { chunks, on_cpu }).collect()
    }

    fn neighbours(&self) -> Vec<Self> {
        let shares = [self.on_cpu.saturating_sub(1).max(1), self.on_cpu + 1].into_iter();
        let shares = shares.map(|on_cpu| Self { on_cpu, ..*self });
        // The CPU keeps its share if there are more chunks, or fewer.
        let share = |chunks: u64| (self.on_cpu * chunks / self.chunks).max(1);
        let cut = near(self.chunks).into_iter();
        shares.chain(cut.map(|chunks| Self { chunks, on_cpu: share(chunks) })).collect()
    }

    fn build(&self, builder: Builder<'_>) -> Result<Program, String> {
        let workload = builder.workload;
        let stays = workload.buffers.iter().find(|buffer| buffer.home == Home::Device);
        if let Some(buffer) = stays {
            return Err(format!("`{}` stays on the GPU, where the CPU cannot use it", buffer.name));
        }
        let all = chunks_of(workload, self.chunks)?;
        let on_gpu = (all.len() as u64).checked_sub(self.on_cpu).filter(|&count| count > 0);
        let Some(on_gpu) = on_gpu.filter(|_| self.on_cpu > 0) else {
            let (count, on_cpu) = (all.len(), self.on_cpu);
            return Err(format!(
                "with {on_cpu} of {count} chunks on the CPU, one side has no work"
            ));
        };
        let (on_gpu, of_cpu) = all.split_at(on_gpu as usize);
        let ring = RING.min(on_gpu.len());
        let dealing = Dealing::to_one_gpu(self.chunks);
        with_ring(builder, [&all, on_gpu], dealing, ring, |builder, ashore| {
            let (room, place) = (room(of_cpu), Place::Host(HostMemory::Pageable));
            let wide = too_wide_for_home(builder, of_cpu);
            let slot = builder.storage_beside_homes(&room, place, &wide);
            let slot = builder.slot(&room, place).or(slot);
            let tasks: Vec<TaskId> = workload.task_ids().collect();
            for chunk in of_cpu {
                on_cpu::compute(builder, &slot, chunk, &tasks, &ashore.partials)?;
                for &id in &wide {
                    let (from, to) = (builder.location(&slot, chunk, id), builder.home(chunk, id));
                    let range = &chunk.owns[id];
                    let (from, to) = (from.slice(range), to.expect("on the host").slice(range));
                    builder.issue(carry(workload.buffer(id).element_type, from, to));
                }
            }
            Ok(())
        })
    }

    fn in_words(&self, workload: &Workload) -> Vec<String> {
        let all = self.chunks * workload.batches;
        let share = format!(
            "The CPU computes the last {} of {all} chunks on all threads, after the host has \
             issued the others to the GPU.",
            self.on_cpu
        );
        let ring = format!("There are up to {RING} sets of device buffers, used in turn.");
        vec![chunks_in_words(self.chunks), share, STREAMS.to_owned(), ring]
    }

    fn parameters(&self) -> Option<String> {
        Some(format!("{} cpu {}", self.chunks, self.on_cpu))
    }
}

/// Results of which a chunk computes more than its own part, for its own use. At home, that would
/// overwrite what other chunks compute.
fn too_wide_for_home(builder: &Builder<'_>, chunks: &[Chunk]) -> Vec<BufferId> {
    let is_wide = |&id: &BufferId| chunks.iter().any(|chunk| chunk.room[id] != chunk.owns[id]);
    builder.copied_out().into_iter().filter(is_wide).collect()
}
