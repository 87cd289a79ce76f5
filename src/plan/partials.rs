//! What the chunks of a reduction leave, and how it becomes one.

use super::builder::{Builder, Residence};
use super::chunk::{Item, reduced};
use super::program::{AllocationId, Call, Place, Step};
use crate::kernels::{Arguments, Kernel};
use crate::scenario::BufferId;

/// Host memory in which the chunks of a reduction leave their parts, and the
/// calls that add the parts up at the end.
pub(super) struct Partials {
    id: BufferId,
    parts: AllocationId,
    chunks: u64,
}

impl Partials {
    /// One set for each reduction that goes back to the host.
    pub fn new(builder: &mut Builder<'_>, chunks: u64) -> Vec<Self> {
        if chunks == 1 {
            return Vec::new();
        }
        let reductions: Vec<BufferId> = builder.copied_out();
        let reductions = reductions.into_iter().filter(|&id| reduced(builder.workload, id));
        let place = Place::Host(builder.plan.strategy.memory);
        let elements = chunks * builder.workload.batches;
        let mut all = Vec::new();
        for id in reductions.collect::<Vec<_>>() {
            let name = format!("{} parts", builder.workload.buffer(id).name);
            all.push(Self { id, parts: builder.allocate(name, place, elements), chunks });
        }
        all
    }

    /// Where the item's part goes, if the buffer is one of these.
    pub fn target(all: &[Self], item: &Item, id: BufferId) -> Option<Residence> {
        let found = all.iter().find(|partials| partials.id == id)?;
        let offset = item.batch * found.chunks + item.piece;
        Some(Residence { allocation: found.parts, first: 0, offset })
    }

    /// Adds up the parts of every batch on the host.
    pub fn combine(all: &[Self], builder: &mut Builder<'_>, items: &[Item]) {
        for partials in all {
            for item in items.iter().filter(|item| item.piece == 0) {
                let offset = item.batch * partials.chunks;
                let parts = Residence { allocation: partials.parts, first: 0, offset };
                let whole = builder.home(item, partials.id).expect("it goes back to the host");
                builder.issue(Call::Compute {
                    step: Step {
                        kernel: Kernel::Sum,
                        arguments: Arguments::default(),
                        inputs: vec![parts.slice(&(0..partials.chunks))],
                        output: whole.slice(&(0..1)),
                        workspace: None,
                        lead: 0,
                    },
                });
            }
        }
    }
}
