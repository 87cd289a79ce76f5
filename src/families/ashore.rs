//! Host memory of a plan's own that copies from the device land in, how what lands there gets home,
//! and what the CPU does of each chunk before and behind the GPU.

use super::builder::{Builder, Location};
use super::chunk::{Chunk, Part};
use super::on_cpu::OnCpu;
use super::partials::Partials;
use crate::kernels::{Arguments, Kernel};
use crate::machine::{HostMemory, StreamId};
use crate::program::{
    AllocationId, BufferId, Call, CopyBy, LibraryStep, Place, Slice, Step, Threads,
};
use crate::scenario::Home;
use crate::units::ElementType;

/// What a plan takes besides the homes of its buffers.
pub(crate) struct Ashore {
    pub(super) partials: Vec<Partials>,
    landings: Vec<Landing>,
    on_cpu: OnCpu,
}

/// Pinned memory for a buffer that has new pages in every pass: to pin these each time would cost
/// more than to copy into them.
struct Landing {
    id: BufferId,
    memory: AllocationId,
}

impl Ashore {
    /// For batches that are cut into so many pieces, with what stays on the CPU.
    pub(super) fn new(builder: &mut Builder<'_>, chunks: u64, on_cpu: OnCpu) -> Self {
        Self { on_cpu, ..Self::where_cut(builder, chunks, |_| true) }
    }

    /// For a workload of which some buffers are cut, and whose tasks are dealt one by one.
    pub fn where_cut(
        builder: &mut Builder<'_>,
        chunks: u64,
        is_cut: impl Fn(BufferId) -> bool,
    ) -> Self {
        let partials = Partials::new(builder, chunks, &is_cut);
        let (workload, memory) = (builder.workload, builder.strategy.own_memory());
        let is_combined = |id: BufferId| chunks > 1 && workload.is_reduced(id) && is_cut(id);
        let needs_landing = |id: &BufferId| {
            let buffer = workload.buffer(*id);
            let is_pageable = buffer.home == Home::Host(HostMemory::Pageable);
            memory == HostMemory::Pinned && buffer.fresh && is_pageable && !is_combined(*id)
        };
        let landings = builder.copied_out().into_iter().filter(needs_landing);
        let landings = landings.map(|id| {
            let buffer = workload.buffer(id);
            let (name, bytes) =
                (format!("{} landing", buffer.name), buffer.bytes(workload.batches));
            let place = Place::Host(HostMemory::Pinned);
            Landing { id, memory: builder.allocate(name, place, bytes) }
        });
        let landings = landings.collect();
        Self { partials, landings, on_cpu: OnCpu::none() }
    }

    /// Where a chunk's copy to the host goes instead of to the buffer's home.
    pub fn target(&self, builder: &Builder<'_>, chunk: &Chunk, id: BufferId) -> Option<Location> {
        let landing = self.landings.iter().find(|landing| landing.id == id);
        let landing = landing.map(|landing| landing.location(builder, chunk));
        Partials::target(&self.partials, chunk, id).or(landing)
    }

    /// Computes on the CPU what the GPU's tasks of a chunk wait for.
    pub fn prepare(&self, builder: &mut Builder<'_>, chunk: &Chunk) -> Result<(), String> {
        self.on_cpu.compute(builder, chunk, &self.on_cpu.before, &self.partials)
    }

    /// Copies home what one chunk has left, while other streams bring more: waits for the stream
    /// that brought it. The CPU then does its tasks with it. Nothing to do if results come home by
    /// themselves.
    pub fn bring_home_early(
        &self,
        builder: &mut Builder<'_>,
        stream: StreamId,
        chunk: &Chunk,
    ) -> Result<(), String> {
        if !self.landings.is_empty() || !self.on_cpu.behind.is_empty() {
            builder.synchronize(stream);
            self.landings.iter().for_each(|landing| landing.bring_home(builder, chunk));
        }
        self.on_cpu.compute(builder, chunk, &self.on_cpu.behind, &self.partials)
    }

    /// Does on the CPU what is left to do once all streams are done: `left` are the chunks whose
    /// results have not come home.
    pub fn bring_home(
        &self,
        builder: &mut Builder<'_>,
        chunks: &[Chunk],
        left: &[Chunk],
    ) -> Result<(), String> {
        if self.on_cpu.behind.is_empty() {
            Partials::combine(&self.partials, builder, chunks);
            self.empty_landings(builder, left, |_| true);
        } else {
            // What came home is read on, and parts come of it.
            self.empty_landings(builder, left, |_| true);
            for chunk in left {
                self.on_cpu.compute(builder, chunk, &self.on_cpu.behind, &self.partials)?;
            }
            Partials::combine(&self.partials, builder, chunks);
        }
        Ok(())
    }

    /// Copies home what some chunks have left of some buffers.
    fn empty_landings(
        &self,
        builder: &mut Builder<'_>,
        left: &[Chunk],
        is_meant: impl Fn(BufferId) -> bool,
    ) {
        for chunk in left {
            let landings = self.landings.iter().filter(|landing| is_meant(landing.id));
            landings.for_each(|landing| landing.bring_home(builder, chunk));
        }
    }

    /// Like [`Self::bring_home`], after parts of a workload that are cut one by one.
    pub fn bring_home_parts(&self, builder: &mut Builder<'_>, parts: &[Part]) {
        let workload = builder.workload;
        // Any part has the first piece of each batch.
        Partials::combine(&self.partials, builder, &parts[0].chunks);
        for Part { tasks, chunks, .. } in parts {
            let writes =
                |id: BufferId| tasks.iter().any(|&task| workload.task(task).writes.contains(&id));
            self.empty_landings(builder, chunks, writes);
        }
    }
}

impl Landing {
    fn location(&self, builder: &Builder<'_>, chunk: &Chunk) -> Location {
        builder.batch_of(self.memory, chunk, self.id)
    }

    /// Copies a chunk's results home by all threads of the CPU.
    fn bring_home(&self, builder: &mut Builder<'_>, chunk: &Chunk) {
        let home = builder.home(chunk, self.id).expect("it goes back to the host");
        let here = self.location(builder, chunk);
        let element_type = builder.workload.buffer(self.id).element_type;
        for range in builder.workload.crossing(self.id, &chunk.owns[self.id]) {
            let range = range.span();
            builder.issue(carry(element_type, here.slice(&range), home.slice(&range)));
        }
    }
}

/// A copy from host memory to host memory by all threads of the CPU.
pub(super) fn carry(element_type: ElementType, from: Slice, to: Slice) -> Call {
    if element_type != ElementType::F32 {
        return Call::copy(CopyBy::Host(Threads::All), from, to);
    }
    let (kernel, inputs) = (Kernel::Scale, vec![from]);
    let arguments = Arguments { a: 1.0, ..Arguments::default() };
    let step = LibraryStep { kernel, arguments, inputs, output: to, workspace: None, lead: 0 };
    Call::Compute { step: Step::Library(step) }
}
