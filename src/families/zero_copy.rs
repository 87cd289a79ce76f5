//! Kernels that use the host's memory across the link, with no copies of it.

use super::ashore::Ashore;
use super::builder::{Builder, room};
use super::chunk::cut;
use super::dealt::{copy_in, copy_out};
use super::definition::{AsGraph, Definition, Division, Traits};
use super::on_cpu::OnCpu;
use crate::program::{BufferId, Place, Program};
use crate::scenario::{FamilyName, Home, Workload};

/// Which buffers kernels use where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mapped {
    /// Those that no task writes.
    Inputs,
    /// Those whose contents no task needs from before.
    Outputs,
    All,
}

/// Kernels use pinned memory of the host across the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZeroCopy {
    pub mapped: Mapped,
}

impl Definition for ZeroCopy {
    fn traits(&self) -> Traits {
        Traits {
            is_on_request: true,
            as_graph: AsGraph::OnRequest,
            ..Traits::of(FamilyName::ZeroCopy)
        }
    }

    fn smallest() -> Self {
        Self { mapped: Mapped::All }
    }

    fn choices(_: &Workload, division: Division) -> Vec<Self> {
        if division != Division::Whole {
            return Vec::new();
        }
        [Mapped::All, Mapped::Inputs, Mapped::Outputs].map(|mapped| Self { mapped }).into()
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let workload = builder.workload;
        if !builder.strategy.memory.is_pinned() {
            return Err("kernels cannot use pageable host memory".to_owned());
        }
        let is_mapped = |id: BufferId| {
            let is_host = matches!(workload.buffer(id).home, Home::Host(_));
            is_host
                && match self.mapped {
                    Mapped::Inputs => workload.is_input(id) && !workload.is_output(id),
                    Mapped::Outputs => workload.is_output(id) && !workload.is_input(id),
                    Mapped::All => true,
                }
        };
        refuse(workload, is_mapped)?;
        let chunks = cut(workload, 1)?;
        let stream = builder.stream();
        let on_cpu = OnCpu::new(&mut builder, &chunks)?;
        let room = room(&chunks);
        let slot = builder.storage(&room, Place::FIRST_DEVICE, |id| !is_mapped(id));
        let slot = builder.equipped(slot, &room);
        let ashore = Ashore::new(&mut builder, 1, on_cpu);
        for chunk in &chunks {
            ashore.prepare(&mut builder, chunk)?;
            copy_in(&mut builder, stream, &slot, chunk);
            builder.launch_all(stream, &slot, chunk)?;
            copy_out(&mut builder, stream, &slot, chunk, &ashore);
        }
        builder.synchronize(stream);
        ashore.bring_home(&mut builder, &chunks, &chunks)?;
        Ok(builder.finish())
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let words = match self.mapped {
            Mapped::Inputs => {
                "Kernels read their inputs from host memory over the link. Results are copied \
                 back."
            }
            Mapped::Outputs => {
                "Inputs are copied to the GPU. Kernels write their results to host memory over \
                 the link."
            }
            Mapped::All => "Kernels read and write host memory over the link; nothing is copied.",
        };
        let stream = "Everything is in one stream. Intermediate results stay on the GPU.";
        vec![words.to_owned(), stream.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        match self.mapped {
            Mapped::Inputs => Some("inputs".to_owned()),
            Mapped::Outputs => Some("outputs".to_owned()),
            Mapped::All => None,
        }
    }
}

/// Refuses what there is no sense in: nothing to map, new pages that every pass would pin, and
/// results that every iteration would send across the link.
fn refuse(workload: &Workload, is_mapped: impl Fn(BufferId) -> bool) -> Result<(), String> {
    let mapped = |id: &BufferId| is_mapped(*id);
    let ids = || (0..workload.buffers.len()).map(BufferId);
    if !ids().any(&is_mapped) {
        return Err("no host buffer is only read or only written by kernels".to_owned());
    }
    if let Some(id) = ids().filter(mapped).find(|&id| workload.buffer(id).fresh) {
        let name = &workload.buffer(id).name;
        return Err(format!("`{name}` is fresh memory, which every run would have to pin again"));
    }
    let repeats = |id: &BufferId| {
        let writer = workload.writer_of(*id).map(|task| workload.task(task));
        writer.filter(|task| task.iterations > 1)
    };
    match ids().filter(mapped).find_map(|id| repeats(&id)) {
        Some(task) => {
            let (name, times) = (&task.name, task.iterations);
            Err(format!("the result of task `{name}` would be written over the link {times} times"))
        }
        None => Ok(()),
    }
}
