//! Where a kernel on the CPU finds its data: how much memory was used since, and by whom.

use crate::plan::{Call, Direction, Plan, Slice};
use crate::profile::{Around, MOST_OPERANDS};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Of each kernel on the CPU, by its place in the body, which goes on where the one before it
/// ended.
pub(super) fn around(plan: &Plan) -> BTreeMap<usize, Around> {
    let mut around = BTreeMap::new();
    if !plan.body.iter().any(|call| matches!(call, Call::Compute { .. })) {
        return around;
    }
    let footprint = plan.host_footprint();
    // Of each allocation, whether all threads used it last, or one; of what no cache has,
    // neither.
    let mut used_by_all: Vec<Option<bool>> = vec![None; plan.allocations.len()];
    let mut used: Vec<Slice> = Vec::new();
    for (at, call) in plan.body.iter().enumerate().chain(plan.body.iter().enumerate()) {
        let step = match call {
            Call::Compute { step } => step,
            // New, or written past the caches.
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
        let only_read = || step.inputs.iter().filter(|slice| **slice != step.output);
        let operands: Vec<Slice> = only_read().chain([&step.output]).copied().collect();
        let mut reuse = [(Bytes::ZERO, Bytes::ZERO); MOST_OPERANDS];
        for (reuse, slice) in reuse.iter_mut().zip(&operands) {
            let is_in_caches = used_by_all[slice.allocation.0].is_some();
            let since = used_since(&used, &operands, slice).filter(|_| is_in_caches);
            *reuse = (slice.length, since.unwrap_or(footprint).min(footprint));
        }
        let handed = [only_read().map(from_others).sum(), from_others(&step.output)];
        around.insert(at, Around { reuse, handed });
        operands.iter().for_each(|slice| used_by_all[slice.allocation.0] = Some(all));
        used.extend(operands);
    }
    around
}

/// The bytes of all that was used since a slice was, and of what is used with it now: its
/// stack distance (Mattson, Gecsei, Slutz, Traiger, "Evaluation Techniques for Storage
/// Hierarchies", IBM Systems Journal 1970). `None` if it was not used as a whole.
fn used_since(used: &[Slice], now: &[Slice], slice: &Slice) -> Option<Bytes> {
    let mut seen: Vec<&Slice> = Vec::new();
    let mut missing = slice.length;
    for before in used.iter().rev() {
        if missing == Bytes::ZERO {
            break;
        }
        if !seen.contains(&before) {
            seen.push(before);
            missing = missing - missing.min(slice.shared_with(before));
        }
    }
    let others = now.iter().filter(|operand| !seen.contains(operand));
    (missing == Bytes::ZERO).then(|| seen.iter().copied().chain(others).map(|one| one.length).sum())
}
