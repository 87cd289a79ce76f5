//! Copies in and out around every task, each waited for: naive code.

use super::builder::{Builder, refuse_fresh, room};
use super::chunk::{Chunk, cut};
use super::crossing::Crossing;
use super::definition::{Definition, Traits, Tries};
use super::on_cpu::{self, refuse_data_on_device};
use crate::machine::HostMemory;
use crate::program::{BufferId, Place, Program};
use crate::scenario::{FamilyName, Home, TaskId, Workload};

/// Copies in and out around every task, each waited for: naive code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoundTrip;

impl Definition for RoundTrip {
    fn traits(&self) -> Traits {
        Traits {
            pageable: Tries::Always,
            // Data that stays on the device makes no round trip.
            yields_on_device: true,
            ..Traits::of(FamilyName::RoundTrip)
        }
    }

    fn smallest() -> Self {
        Self
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let workload = builder.workload;
        // Naive code copies straight to where results belong, and would have to pin that.
        if builder.strategy.own_memory() == HostMemory::Pinned {
            refuse_fresh(workload, |id| matches!(workload.buffer(id).home, Home::Host(_)))?;
        }
        refuse_data_on_device(workload)?;
        let chunks = cut(workload, 1)?;
        let stream = builder.stream();
        let room = room(&chunks);
        let slot = builder.slot(&room, Place::FIRST_DEVICE);
        let travels = |id: BufferId| workload.buffer(id).home != Home::Device;
        let ashore = builder.storage(&room, Place::Host(builder.strategy.own_memory()), travels);
        let ashore = builder.equipped_for(ashore, &room, |task| task.on_cpu);
        // What goes between tasks goes whole.
        let parts = |chunk: &Chunk, id: BufferId, is_between_tasks: bool| match is_between_tasks {
            true => vec![chunk.needs[id].clone().into()],
            false => workload.crossing(id, &chunk.needs[id]),
        };
        for chunk in &chunks {
            for (index, task) in workload.tasks.iter().enumerate() {
                if task.on_cpu {
                    on_cpu::compute(&mut builder, &ashore, chunk, &[TaskId(index)], &[])?;
                    continue;
                }
                for &id in task.reads.iter().filter(|&&id| travels(id)) {
                    let (from, to) =
                        (builder.location(&ashore, chunk, id), builder.location(&slot, chunk, id));
                    let crossing = Crossing::inward(stream, from, to);
                    builder.copy_parts(crossing, &parts(chunk, id, workload.is_output(id)));
                    builder.synchronize(stream);
                }
                for step in builder.steps(&slot, chunk, TaskId(index))? {
                    builder.launch(stream, step);
                }
                for &id in task.writes.iter().filter(|&&id| travels(id)) {
                    let (from, to) =
                        (builder.location(&slot, chunk, id), builder.location(&ashore, chunk, id));
                    let is_read_on = workload.tasks.iter().any(|task| task.reads.contains(&id));
                    let crossing = Crossing::outward(stream, from, to);
                    builder.copy_parts(crossing, &parts(chunk, id, is_read_on));
                }
                builder.synchronize(stream);
            }
        }
        Ok(builder.finish())
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        vec![
            "For each task, the inputs are copied to the GPU and the result is copied back. The \
             host waits for every step, as in naive code."
                .to_owned(),
        ]
    }
}
