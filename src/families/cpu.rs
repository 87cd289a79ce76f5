//! Every task on the CPU.

use super::builder::{Builder, Slot, room};
use super::chunk::{Chunk, cut};
use super::crossing::Crossing;
use super::definition::{Definition, Traits, Tries};
use super::on_cpu;
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
        let workload = builder.workload;
        // The user's own code has no memory for what hallway's tasks pass on.
        let is_used = |id| workload.used_on_cpu_and_elsewhere(id) != [false; 2];
        let (place, room) = (Place::Host(builder.strategy.own_memory()), room(&chunks));
        let slot = builder.storage(&room, place, is_used);
        let slot = builder.equipped(slot, &room);
        let is_on_device = |id: &BufferId| workload.buffer(*id).home == Home::Device;
        let on_device: Vec<BufferId> = workload.buffer_ids().filter(is_on_device).collect();
        let tasks: Vec<TaskId> = workload.task_ids().collect();
        let stream = if on_device.is_empty() { None } else { Some(builder.stream()) };
        for chunk in &chunks {
            fetch(&mut builder, stream, &slot, chunk, &on_device, Direction::DeviceToHost);
            on_cpu::compute(&mut builder, &slot, chunk, &tasks, &[])?;
            fetch(&mut builder, stream, &slot, chunk, &on_device, Direction::HostToDevice);
        }
        Ok(builder.finish())
    }

    fn in_words(&self, workload: &Workload) -> Vec<String> {
        let own = "Your own CPU code does all tasks, as the scenario's `cpu` says.";
        let mut words = vec![if workload.own_cpu.is_some() {
            own
        } else {
            "The CPU runs the tasks one after another, each on all threads or, if it is small, on \
             one."
        }];
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
    let workload = builder.workload;
    let comes = |id: &&BufferId| chunk.batch == 0 || !workload.buffer(**id).shared;
    for &id in on_device.iter().filter(comes) {
        let home = builder.home(chunk, id).expect("the device is its home");
        let here = builder.location(slot, chunk, id);
        let crossing = match direction {
            Direction::DeviceToHost if workload.is_input(id) => {
                Crossing::outward(stream, home, here)
            }
            Direction::HostToDevice if workload.is_output(id) => {
                Crossing::inward(stream, here, home)
            }
            _ => continue,
        };
        builder.cross(crossing, id, &chunk.needs[id]);
    }
    builder.synchronize(stream);
}
