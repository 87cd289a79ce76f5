//! What of a kernel's data on the CPU other threads used before it.

use crate::plan::{Call, Direction, Plan, Slice};
use crate::units::Bytes;

/// For each call, the bytes that it reads and those that it writes which one thread used
/// before and all use now, or all before and one now: they are in the caches of other cores.
/// What is written in place is fetched but once. The body goes on where the one before it ended.
pub(super) fn handed(plan: &Plan) -> Vec<[Bytes; 2]> {
    let mut used_by_all: Vec<Option<bool>> = vec![None; plan.allocations.len()];
    let mut handed = vec![[Bytes::ZERO; 2]; plan.body.len()];
    for (at, call) in plan.body.iter().enumerate().chain(plan.body.iter().enumerate()) {
        let step = match call {
            Call::Compute { step } => step,
            // New, or written past the caches: nobody's.
            Call::Renew(id) => {
                used_by_all[id.0] = None;
                continue;
            }
            Call::Copy { direction: Direction::DeviceToHost, to, .. } => {
                used_by_all[to.allocation.0] = None;
                continue;
            }
            _ => continue,
        };
        let all = step.is_shared();
        let from_others = |slice: &Slice| match used_by_all[slice.allocation.0] {
            Some(before) if before != all => slice.length,
            _ => Bytes::ZERO,
        };
        let only_read = step.inputs.iter().filter(|slice| **slice != step.output);
        handed[at] = [only_read.map(from_others).sum(), from_others(&step.output)];
        let slices = step.inputs.iter().chain([&step.output]);
        slices.for_each(|slice| used_by_all[slice.allocation.0] = Some(all));
    }
    handed
}
