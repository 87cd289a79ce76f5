//! The steps of tasks on chunks: what is launched, or computed on the CPU.

use super::builder::{Builder, Location, Slot, TaskMemory};
use super::chunk::{Chunk, iteration_range, widened};
use crate::kernels::{Arguments, Kernel, Shape};
use crate::machine::StreamId;
use crate::program::spelled::Launched;
use crate::program::{BufferId, Call, LibraryStep, OwnStep, Slice, Step};
use crate::scenario::{OwnWork, Task, TaskId, TaskKernel};
use crate::units::Bytes;
use std::ops::Range;

impl Builder<'_> {
    /// The steps of a task on a chunk: one for each iteration.
    ///
    /// # Errors
    /// If a kernel of the user's own cannot be launched on so many elements.
    pub(super) fn steps(
        &self,
        slot: &Slot,
        chunk: &Chunk,
        id: TaskId,
    ) -> Result<Vec<Step>, String> {
        let task = self.workload.task(id);
        let here = |&id: &BufferId| self.location(slot, chunk, id);
        let memory = TaskMemory {
            inputs: task.reads.iter().map(here).collect(),
            outputs: task.writes.iter().map(here).collect(),
            spare: slot.spares[id.0].map(|spare| spare.for_chunk(chunk, task.output())),
            workspace: slot.workspaces[id.0],
        };
        self.steps_in(memory, chunk, id)
    }

    /// The steps of a task on a chunk whose elements lie in some memory: one for each iteration.
    ///
    /// # Errors
    /// If a kernel of the user's own cannot be launched on so many elements.
    pub(crate) fn steps_in(
        &self,
        memory: TaskMemory,
        chunk: &Chunk,
        id: TaskId,
    ) -> Result<Vec<Step>, String> {
        let task = self.workload.task(id);
        match &task.kernel {
            TaskKernel::Library { kernel, arguments } => {
                let steps = self.library_steps(memory, chunk, task, *kernel, arguments);
                Ok(steps.into_iter().map(Step::Library).collect())
            }
            TaskKernel::Own(work) => {
                let step = Step::from(self.own_step(&memory, chunk, task, work)?);
                Ok(vec![step; task.iterations as usize])
            }
        }
    }

    /// The calls of a task on a chunk: launches in a stream, or what the CPU computes.
    ///
    /// # Errors
    /// If a kernel of the user's own cannot be launched on so many elements.
    pub(crate) fn calls_in(
        &self,
        memory: TaskMemory,
        chunk: &Chunk,
        id: TaskId,
        stream: Option<StreamId>,
    ) -> Result<Vec<Call>, String> {
        let steps = self.steps_in(memory, chunk, id)?.into_iter();
        Ok(steps.map(|step| Call::of_step(stream, step)).collect())
    }

    /// A launch of a kernel of the user's own.
    fn own_step(
        &self,
        memory: &TaskMemory,
        chunk: &Chunk,
        task: &Task,
        work: &OwnWork,
    ) -> Result<OwnStep, String> {
        let kernel = &work.declared.kernel;
        let at = self.program.kernels.iter().position(|known| known.name == kernel.name);
        let length = self.workload.buffer(task.output()).elements;
        // The step computes elements of its halo, too, though nothing uses them.
        let along = widened(&chunk.needs[task.output()], task.halo(), length);
        let read = |(input, location): (usize, &Location)| {
            let whole = task.kernel.whole(input);
            location.slice(&whole.map_or_else(|| along.clone(), |length| 0..length))
        };
        let write = |(&id, location): (&BufferId, &Location)| {
            let all = 0..self.workload.buffer(id).elements;
            location.slice(if task.kernel.can_be_cut() { &along } else { &all })
        };
        let launched = Launched {
            reads: memory.inputs.iter().enumerate().map(read).collect(),
            writes: task.writes.iter().zip(&memory.outputs).map(write).collect(),
            numbers: &work.numbers,
            elements: work.elements.unwrap_or(along.end - along.start),
            // Nobody is shown it.
            place: 0..0,
        };
        let at = at.expect("the builder begins with all kernels of the tasks");
        work.declared.launch(at, launched).map_err(|fault| fault.message)
    }

    fn library_steps(
        &self,
        memory: TaskMemory,
        chunk: &Chunk,
        task: &Task,
        kernel: Kernel,
        arguments: &Arguments,
    ) -> Vec<LibraryStep> {
        let TaskMemory { mut inputs, outputs, spare, workspace } = memory;
        let mut steps = Vec::new();
        for index in 0..task.iterations {
            let odd = (task.iterations - 1 - index) % 2 == 1;
            let target = spare.filter(|_| odd).unwrap_or(outputs[0]);
            let (reads, writes) = self.ranges((task, kernel, arguments), chunk, index);
            steps.push(LibraryStep {
                kernel,
                arguments: *arguments,
                inputs: {
                    let range = |input| match kernel.whole(input, arguments) {
                        Some(length) => 0..length,
                        None => reads.clone(),
                    };
                    inputs.iter().enumerate().map(|(i, input)| input.slice(&range(i))).collect()
                },
                output: target.slice(&writes),
                workspace: workspace.map(|allocation| Slice {
                    allocation,
                    offset: Bytes::ZERO,
                    length: self.program.allocation(allocation).bytes,
                }),
                lead: if kernel.shape() == Shape::Map { writes.start - reads.start } else { 0 },
            });
            // A task that works in place finds its output where it read its input.
            if !task.reads.contains(&task.output()) {
                inputs[kernel.iterated()] = target;
            }
        }
        steps
    }

    /// The elements that one iteration of a task reads and writes.
    fn ranges(
        &self,
        (task, kernel, arguments): (&Task, Kernel, &Arguments),
        chunk: &Chunk,
        index: u64,
    ) -> (Range<u64>, Range<u64>) {
        let length = self.workload.buffer(task.output()).elements;
        match kernel.shape() {
            Shape::Reduction => (chunk.owns[task.reads[0]].clone(), 0..kernel.results(arguments)),
            Shape::Map => {
                let writes = iteration_range(task, index, &chunk.needs[task.output()], length);
                (widened(&writes, kernel.halo(arguments), length), writes)
            }
        }
    }

    pub(super) fn launch_all(
        &mut self,
        stream: StreamId,
        slot: &Slot,
        chunk: &Chunk,
    ) -> Result<(), String> {
        let workload = self.workload;
        for task in workload.task_ids().filter(|&task| !workload.task(task).on_cpu) {
            for step in self.steps(slot, chunk, task)? {
                self.launch(stream, step);
            }
        }
        Ok(())
    }
}
