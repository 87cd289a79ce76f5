//! What of a kernel's data on the CPU other threads used before it.

use crate::plan::{Call, Plan, Slice};
use crate::units::Bytes;

/// For each call, the bytes that it reads and those that it writes which one thread used
/// before and all use now, or all before and one now: they are in the caches of other cores.
/// The body goes on where the one before it ended.
pub(super) fn handed(plan: &Plan) -> Vec<[Bytes; 2]> {
    let mut used_by_all: Vec<Option<bool>> = vec![None; plan.allocations.len()];
    let mut handed = vec![[Bytes::ZERO; 2]; plan.body.len()];
    for (at, call) in plan.body.iter().enumerate().chain(plan.body.iter().enumerate()) {
        let Call::Compute { step } = call else { continue };
        let all = step.is_shared();
        let from_others = |slice: &Slice| match used_by_all[slice.allocation.0] {
            Some(before) if before != all => slice.length,
            _ => Bytes::ZERO,
        };
        handed[at] = [step.inputs.iter().map(from_others).sum(), from_others(&step.output)];
        let slices = step.inputs.iter().chain([&step.output]);
        slices.for_each(|slice| used_by_all[slice.allocation.0] = Some(all));
    }
    handed
}
