//! Kernels that use the host's memory across the link, with no copies of it.

use super::ashore::Ashore;
use super::builder::{Builder, refuse_fresh, room};
use super::chunk::cut;
use super::definition::{AsGraph, Definition, Division, Traits};
use super::on_cpu::OnCpu;
use crate::program::{BufferId, Place, Program};
use crate::scenario::{FamilyName, Home, Workload};

/// Which buffers kernels use where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mapped {
    /// Buffers that no task writes.
    Inputs,
    /// Buffers whose earlier contents no task needs.
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
            builder.copy_in(stream, &slot, chunk);
            builder.launch_all(stream, &slot, chunk)?;
            builder.copy_out(stream, &slot, chunk, &ashore);
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
    let mut mapped = workload.buffer_ids().filter(|&id| is_mapped(id)).peekable();
    if mapped.peek().is_none() {
        return Err("no host buffer is read-only or write-only for kernels".to_owned());
    }
    refuse_fresh(workload, &is_mapped)?;
    let writer = |id| workload.writer_of(id).map(|task| workload.task(task));
    let Some(task) = mapped.filter_map(writer).find(|task| task.iterations > 1) else {
        return Ok(());
    };
    let (name, times) = (&task.name, task.iterations);
    Err(format!("the result of task `{name}` would be written over the link {times} times"))
}
