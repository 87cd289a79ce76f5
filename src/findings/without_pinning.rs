//! What changes for somebody who cannot pin memory.

use super::Comparison;
use crate::machine::HostMemory;
use crate::program::{Allocation, AllocationId, Call, Place, Program};
use crate::search::{Ranked, Ranking};

/// Whether a program page-locks host memory: by registering it, or by taking pinned memory of its
/// own. Memory that the scenario says is pinned does not count: it is there already.
pub fn pins(program: &Program) -> bool {
    let registers = program.calls().any(|call| matches!(call, Call::Pin(_)));
    let is_combined = |one: &Allocation| one.place == Place::Host(HostMemory::WriteCombined);
    let is_taken = |id: usize| program.setup.contains(&Call::Allocate(AllocationId(id)));
    let takes = program.allocations.iter().enumerate().any(|(id, one)| {
        let is_own = one.holds.is_none() || is_taken(id);
        one.place.is_pinned() && (is_own || (is_combined(one) && !one.place.is_managed()))
    });
    registers || takes
}

/// Compares the plans that pin nothing, on both sides. `None` if neither side's plan to choose
/// pins, or if every plan does.
pub(super) fn without_pinning(ranking: &Ranking) -> Option<Comparison> {
    let pins = |ranked: &Ranked| pins(&ranked.plan.program);
    let chosen = [ranking.best_on_gpu(), ranking.best_on_cpu()];
    if !chosen.into_iter().flatten().any(pins) {
        return None;
    }
    Comparison::of_runs_among(ranking, |ranked| !pins(ranked))
}
