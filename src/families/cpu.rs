//! Every task on the CPU.

use super::builder::{Builder, Slot, room};
use super::chunk::{Chunk, cut};
use super::crossing::Way;
use super::definition::{Definition, Traits, Tries};
use crate::machine::{Direction, Side, StreamId};
use crate::program::{BufferId, Place, Program};
use crate::scenario::{FamilyName, Home, TaskId, Workload};

/// Every task on the CPU, all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu;

impl Definition for Cpu {
    fn traits(&self) -> Traits {
        Traits { side: Side::Cpu, pageable: Tries::Always, ..Traits::of(FamilyName::Cpu) }
    }

    fn smallest() -> Self {
        Self
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let chunks = cut(builder.workload, 1)?;
        let slot = builder.slot(&room(&chunks), Place::Host(builder.strategy.own_memory()));
        let on_device: Vec<BufferId> = (0..builder.workload.buffers.len())
            .map(BufferId)
            .filter(|&id| builder.workload.buffer(id).home == Home::Device)
            .collect();
        let stream = if on_device.is_empty() { None } else { Some(builder.stream()) };
        for chunk in &chunks {
            fetch(&mut builder, stream, &slot, chunk, &on_device, Direction::DeviceToHost);
            for task in 0..builder.workload.tasks.len() {
                for step in builder.steps(&slot, chunk, TaskId(task))? {
                    builder.compute(step);
                }
            }
            fetch(&mut builder, stream, &slot, chunk, &on_device, Direction::HostToDevice);
        }
        Ok(builder.finish())
    }

    fn in_words(&self, workload: &Workload) -> Vec<String> {
        let mut words = vec![
            "The CPU runs the tasks one after another: on all threads, or on a single one if \
             the task is small.",
        ];
        if workload.buffers.iter().any(|buffer| buffer.home == Home::Device) {
            words.push(
                "Inputs on the GPU are copied to the host first, and results that belong on the \
                 GPU are copied back.",
            );
        }
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Copies buffers whose home is the device to the CPU, or the results back.
fn fetch(
    builder: &mut Builder<'_>,
    stream: Option<StreamId>,
    slot: &Slot,
    chunk: &Chunk,
    on_device: &[BufferId],
    direction: Direction,
) {
    let Some(stream) = stream else { return };
    // What all batches share stays where the first has brought it.
    let comes = |id: &&BufferId| chunk.batch == 0 || !builder.workload.buffer(**id).shared;
    for &id in on_device.iter().filter(comes).collect::<Vec<_>>() {
        let home = builder.home(chunk, id).expect("the device is its home");
        let here = builder.location(slot, chunk, id);
        let range = chunk.needs[id.0].clone();
        match direction {
            Direction::DeviceToHost if builder.workload.is_input(id) => {
                builder.cross(stream, direction, Way { from: home, to: here }, id, &range);
            }
            Direction::HostToDevice if builder.workload.is_output(id) => {
                builder.cross(stream, direction, Way { from: here, to: home }, id, &range);
            }
            _ => {}
        }
    }
    builder.synchronize(stream);
}
