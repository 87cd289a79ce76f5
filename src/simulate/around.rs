//! Where a kernel on the CPU finds its data: how much memory was used since, and by whom.

use super::uses::Uses;
use crate::plan::{Call, Direction, Plan, Slice, Step};
use crate::profile::{Around, MOST_OPERANDS, Reuse};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Of each kernel on the CPU, by its place in the body, which goes on where the one before it
/// ended. What copies use on the host is left out: where a plan has both, the CPU does little.
pub(super) fn around(plan: &Plan, threads: usize) -> BTreeMap<usize, Around> {
    let mut around = BTreeMap::new();
    let kernels = plan.body.iter().filter(|call| matches!(call, Call::Compute { .. })).count();
    if kernels == 0 {
        return around;
    }
    let footprint = plan.host_footprint();
    let mut uses = Uses::new(2 * kernels * MOST_OPERANDS);
    for (at, call) in plan.body.iter().enumerate().chain(plan.body.iter().enumerate()) {
        let step = match call {
            Call::Compute { step } => step,
            // New, or written by none of the cores.
            Call::Renew(id) => {
                let length = plan.allocation(*id).bytes;
                uses.forget(&Slice { allocation: *id, offset: Bytes::ZERO, length });
                continue;
            }
            Call::Copy { direction: Direction::DeviceToHost, to, .. } => {
                uses.forget(to);
                continue;
            }
            _ => continue,
        };
        let user = match step.is_shared(footprint) {
            true if step.keeps_shares(threads) => User::Team,
            true => User::Helpers,
            false => User::One,
        };
        let used = |slice: &Slice, by: fn(User, User) -> bool| {
            let before = uses.last_by(slice);
            before.filter(|&before| by(before, user)).map_or(Bytes::ZERO, |_| slice.length)
        };
        let operands = operands(step);
        let reuse = reuse(&uses, &operands, &operands, footprint);
        let only_read = &operands[..operands.len() - 1];
        let bytes =
            |by| [only_read.iter().map(|slice| used(slice, by)).sum(), used(&step.output, by)];
        let handed = bytes(|before, user| (before == User::One) != (user == User::One));
        let helped = bytes(|before, user| (before, user) == (User::Helpers, User::Team));
        around.insert(at, Around { reuse, handed, helped, footprint });
        operands.iter().for_each(|slice| uses.note(slice, user));
    }
    around
}

/// Who runs a kernel.
#[derive(Clone, Copy, PartialEq)]
enum User {
    One,
    /// All threads, each its share.
    Team,
    /// All threads, and those that are through early help others.
    Helpers,
}

/// What a kernel works on: what it only reads, and then what it writes.
pub(super) fn operands(step: &Step) -> Vec<Slice> {
    let only_read = step.inputs.iter().filter(|slice| **slice != step.output);
    only_read.chain([&step.output]).copied().collect()
}

/// Of each slice that a kernel uses its bytes and those that were used since it was, with all
/// `operands` of the kernel: as many as a pass goes round at most.
pub(super) fn reuse<B: Copy>(
    uses: &Uses<B>,
    slices: &[Slice],
    operands: &[Slice],
    footprint: Bytes,
) -> Reuse {
    let mut reuse = Reuse::default();
    for (reuse, slice) in reuse.0.iter_mut().zip(slices) {
        let since = uses.since(slice, operands);
        *reuse = (slice.length, since.unwrap_or(footprint).min(footprint));
    }
    reuse
}
