//! Host memory of a plan's own that copies from the device land in, and how what lands there
//! gets home.

use super::builder::{Builder, Location};
use super::chunk::Chunk;
use super::partials::Partials;
use super::parts::Part;
use crate::kernels::{Arguments, Kernel};
use crate::machine::{HostMemory, StreamId};
use crate::program::{AllocationId, BufferId, Call, Place, Slice, Step, Threads};
use crate::scenario::Home;
use crate::units::ElementType;

/// What a plan takes besides the homes of its buffers.
pub(crate) struct Ashore {
    partials: Vec<Partials>,
    landings: Vec<Landing>,
}

/// Pinned memory for a buffer that has new pages in every pass: to pin these each time would cost
/// more than to copy into them.
struct Landing {
    id: BufferId,
    memory: AllocationId,
}

impl Ashore {
    pub fn new(builder: &mut Builder<'_>, chunks: u64) -> Self {
        Self::where_cut(builder, chunks, |_| true)
    }

    /// For a workload of which some buffers are cut.
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
        let landings: Vec<BufferId> =
            builder.copied_out().into_iter().filter(needs_landing).collect();
        let mut landing = |id: BufferId| {
            let buffer = workload.buffer(id);
            let (name, bytes) =
                (format!("{} landing", buffer.name), buffer.bytes(workload.batches));
            let place = Place::Host(HostMemory::Pinned);
            Landing { id, memory: builder.allocate(name, place, bytes) }
        };
        let landings = landings.into_iter().map(&mut landing).collect();
        Self { partials, landings }
    }

    /// Where a chunk's copy to the host goes instead of to the buffer's home.
    pub fn target(&self, builder: &Builder<'_>, chunk: &Chunk, id: BufferId) -> Option<Location> {
        let landing = self.landings.iter().find(|landing| landing.id == id);
        let landing = landing.map(|landing| landing.location(builder, chunk));
        Partials::target(&self.partials, chunk, id).or(landing)
    }

    /// Where a chunk leaves its part of a reduction's result, if it has only a part.
    pub fn part(&self, chunk: &Chunk, id: BufferId) -> Option<Location> {
        Partials::target(&self.partials, chunk, id)
    }

    /// Copies home what one chunk has left, while other streams bring more: waits for the stream
    /// that brought it. Nothing to do if results come home by themselves.
    pub fn bring_home_early(&self, builder: &mut Builder<'_>, stream: StreamId, chunk: &Chunk) {
        if !self.landings.is_empty() {
            builder.issue(Call::Synchronize { stream });
            self.landings.iter().for_each(|landing| landing.bring_home(builder, chunk));
        }
    }

    /// Does on the CPU what is left to do once all streams are done: `left` are the chunks whose
    /// results have not come home.
    pub fn bring_home(&self, builder: &mut Builder<'_>, chunks: &[Chunk], left: &[Chunk]) {
        Partials::combine(&self.partials, builder, chunks);
        self.bring_home_some(builder, left, |_| true);
    }

    /// Copies home what some chunks have left of some buffers.
    fn bring_home_some(
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
            self.bring_home_some(builder, chunks, writes);
        }
    }
}

impl Landing {
    fn location(&self, builder: &Builder<'_>, chunk: &Chunk) -> Location {
        builder.batch_of(self.memory, chunk, self.id)
    }

    /// Copies a chunk's results home by all threads of the CPU.
    fn bring_home(&self, builder: &mut Builder<'_>, chunk: &Chunk) {
        let range = &chunk.owns[self.id.0];
        let home = builder.home(chunk, self.id).expect("it goes back to the host");
        let (from, to) = (self.location(builder, chunk).slice(range), home.slice(range));
        builder.issue(carry(builder.workload.buffer(self.id).element_type, from, to));
    }
}

/// A copy from host memory to host memory by all threads of the CPU.
pub(super) fn carry(element_type: ElementType, from: Slice, to: Slice) -> Call {
    if element_type != ElementType::F32 {
        return Call::HostCopy { from, to, threads: Threads::All };
    }
    let step = Step {
        kernel: Kernel::Scale,
        arguments: Arguments { a: 1.0, ..Arguments::default() },
        inputs: vec![from],
        output: to,
        workspace: None,
        lead: 0,
    };
    Call::Compute { step }
}
