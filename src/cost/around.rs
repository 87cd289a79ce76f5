//! Where a kernel on the CPU, or a copy by it, finds its data: how much memory was used since it
//! was last used, and who used it.

use super::uses::Uses;
use crate::machine::Direction;
use crate::profile::{HostLocality, MOST_OPERANDS, Reuse};
use crate::program::{Call, CopyBy, LibraryStep, Program, Slice, Step, Threads};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// The surroundings of each kernel on the CPU and of each copy by it, by its place in the body. The
/// body repeats, so the first follows the last. Memory that engines use on the host is left out,
/// and so is what copies under way take from the kernel.
pub(super) fn around(program: &Program, threads: usize) -> BTreeMap<usize, HostLocality> {
    let mut around = BTreeMap::new();
    let is_priced = |call: &Call| {
        let of_library = matches!(call, Call::Compute { step: Step::Library(_) });
        of_library || matches!(call, Call::Copy { by: CopyBy::Host(_), .. })
    };
    if !program.body.iter().any(is_priced) {
        return around;
    }
    let computes = program.body.iter().filter(|call| call.is_compute() || is_priced(call));
    let operands_of = |call| program.accesses(call).len().max(MOST_OPERANDS);
    let most = 2 * computes.map(operands_of).sum::<usize>();
    let footprint = program.host_footprint();
    let mut uses = Uses::new(most);
    for (at, call) in program.body.iter().enumerate().chain(program.body.iter().enumerate()) {
        let step = match call {
            Call::Compute { step: Step::Library(step) } => step,
            // Whatever the CPU does there, all of its threads may.
            Call::Compute { step: Step::Own(step) } => {
                step.slices().for_each(|slice| uses.note(slice, User::Helpers));
                continue;
            }
            Call::Copy { by: CopyBy::Host(threads), from, to, .. } => {
                let operands = [*from, *to];
                let reuse = reuse(&uses, &operands, &operands, footprint);
                around.insert(at, HostLocality { reuse, footprint, ..HostLocality::default() });
                let user = if *threads == Threads::All { User::Helpers } else { User::One };
                operands.iter().for_each(|slice| uses.note(slice, user));
                continue;
            }
            // The memory is new, or a copy wrote it: no core has it in its cache.
            Call::Renew(id) | Call::Allocate { allocation: id, .. } => {
                let length = program.allocation(*id).bytes;
                uses.forget(&Slice { allocation: *id, offset: Bytes::ZERO, length });
                continue;
            }
            Call::Launch { step: Step::Library(step), .. } => {
                uses.forget(&step.output);
                continue;
            }
            _ => {
                if let Some((_, Direction::DeviceToHost, _, to)) = call.crossing() {
                    uses.forget(to);
                }
                continue;
            }
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
        around.insert(at, HostLocality { reuse, handed, helped, footprint });
        operands.iter().for_each(|slice| uses.note(slice, user));
    }
    around
}

/// Which threads run a kernel, and how they share it.
#[derive(Clone, Copy, PartialEq)]
enum User {
    One,
    /// All threads, each on its own share.
    Team,
    /// All threads; those that finish early help others.
    Helpers,
}

/// The memory that a kernel uses: first the slices that it only reads, then the one that it writes.
pub(super) fn operands(step: &LibraryStep) -> Vec<Slice> {
    let only_read = step.inputs.iter().filter(|slice| **slice != step.output);
    only_read.chain([&step.output]).copied().collect()
}

/// For each slice, its size, and the bytes that were used since its last use, counting all
/// `operands` of the kernel. A slice that was never used counts as the whole `footprint` of a pass,
/// which is also the most.
pub(super) fn reuse<B: Copy>(
    uses: &Uses<B>,
    slices: &[Slice],
    operands: &[Slice],
    footprint: Bytes,
) -> Reuse {
    let mut reuse = Reuse::default();
    let since = slices.iter().zip(uses.since(slices, operands));
    for (reuse, (slice, since)) in reuse.0.iter_mut().zip(since) {
        *reuse = (slice.length, since.unwrap_or(footprint).min(footprint));
    }
    reuse
}
