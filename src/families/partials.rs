//! Partial results: each chunk of a reduction leaves one, and the host joins them.

use super::builder::{Builder, Location};
use super::chunk::Chunk;
use crate::kernels::{Arguments, Kernel};
use crate::program::{AllocationId, BufferId, LibraryStep, Place, Step};
use crate::units::Bytes;

/// Host memory in which the chunks of a reduction leave their parts, and the
/// calls that join the parts at the end.
pub(super) struct Partials {
    id: BufferId,
    parts: AllocationId,
    chunks: u64,
    /// Elements of each part, and of the whole.
    length: u64,
    /// What makes the whole of the parts, if each is one number. Others are added up.
    joined_by: Kernel,
}

impl Partials {
    /// Takes memory for the partial results of each reduction whose result goes to the host.
    pub fn new(
        builder: &mut Builder<'_>,
        chunks: u64,
        is_cut: impl Fn(BufferId) -> bool,
    ) -> Vec<Self> {
        if chunks == 1 {
            return Vec::new();
        }
        let results: Vec<BufferId> = builder.results_on_host();
        let reductions = results.into_iter().filter(|&id| is_cut(id));
        let reductions =
            reductions.filter_map(|id| Some((id, builder.workload.reduction(id)?.joined_by())));
        let place = Place::Host(builder.strategy.own_memory());
        let mut all = Vec::new();
        for (id, joined_by) in reductions.collect::<Vec<_>>() {
            let buffer = builder.workload.buffer(id);
            let (name, length) = (format!("{} parts", buffer.name), buffer.elements);
            let elements = length * chunks * builder.workload.batches;
            let parts = builder.allocate(name, place, Bytes::of_f32(elements));
            all.push(Self { id, parts, chunks, length, joined_by });
        }
        all
    }

    /// Where a chunk's partial result goes, if the buffer is the result of a reduction.
    pub fn target(all: &[Self], chunk: &Chunk, id: BufferId) -> Option<Location> {
        let found = all.iter().find(|partials| partials.id == id)?;
        let offset = (chunk.batch * found.chunks + chunk.piece) * found.length;
        Some(found.location(offset))
    }

    const fn location(&self, offset: u64) -> Location {
        Location { allocation: self.parts, first: 0, offset, size: size_of::<f32>() as u64 }
    }

    /// Joins the parts of every batch on the host.
    pub fn combine(all: &[Self], builder: &mut Builder<'_>, chunks: &[Chunk]) {
        for partials in all {
            for chunk in chunks.iter().filter(|chunk| chunk.piece == 0) {
                partials.combine_batch(builder, chunk);
            }
        }
    }

    fn combine_batch(&self, builder: &mut Builder<'_>, chunk: &Chunk) {
        let part = |piece| self.location((chunk.batch * self.chunks + piece) * self.length);
        let whole = builder.home(chunk, self.id).expect("it goes back to the host");
        let whole = whole.slice(&(0..self.length));
        let mut compute = |kernel, arguments, inputs| {
            let step =
                LibraryStep { kernel, arguments, inputs, output: whole, workspace: None, lead: 0 };
            builder.compute(Step::Library(step));
        };
        if self.length == 1 {
            let parts = part(0).slice(&(0..self.chunks));
            return compute(self.joined_by, Arguments::default(), vec![parts]);
        }
        let of = |piece| part(piece).slice(&(0..self.length));
        let once = Arguments { a: 1.0, ..Arguments::default() };
        compute(Kernel::Scale, once, vec![of(0)]);
        for piece in 1..self.chunks {
            compute(Kernel::Saxpy, once, vec![of(piece), whole]);
        }
    }
}
