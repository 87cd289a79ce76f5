//! Device memory that a part of a trace both takes and gives back.

use super::blocks::{Blocks, Space, taken};
use crate::trace::{CallKind, Trace, WorkKind};
use std::collections::BTreeSet;

/// The addresses of memory that calls take before they use it, and give back each time. It has to
/// be a block by itself.
pub(super) fn given_back(
    trace: &Trace,
    calls: &[usize],
    asked_for: &[Vec<usize>],
    blocks: &Blocks,
) -> BTreeSet<u64> {
    let device = Space::Device(0);
    let mut taken = taken(trace, calls);
    taken.retain(|&address, bytes| {
        let end = address.saturating_add(bytes.get());
        blocks.bounds(device, address) == Some((address, end))
    });
    let mut there: BTreeSet<u64> = BTreeSet::new();
    let mut wrong: BTreeSet<u64> = BTreeSet::new();
    let begin_of = |pointer| blocks.bounds(device, pointer).map(|(begin, _)| begin);
    for &at in calls {
        match &trace.calls[at].kind {
            CallKind::Allocate { address, .. } if taken.contains_key(address) => {
                if !there.insert(*address) {
                    wrong.insert(*address);
                }
            }
            CallKind::Free { address, .. } if taken.contains_key(address) => {
                if !there.remove(address) {
                    wrong.insert(*address);
                }
            }
            _ => {
                let used = asked_for[at].iter().flat_map(|&work| device_addresses(trace, at, work));
                wrong.extend(used.filter_map(begin_of).filter(|begin| !there.contains(begin)));
            }
        }
    }
    taken.into_keys().filter(|one| !wrong.contains(one) && !there.contains(one)).collect()
}

/// The addresses on a GPU that an operation uses.
fn device_addresses(trace: &Trace, at: usize, work: usize) -> Vec<u64> {
    match (&trace.calls[at].kind, &trace.work[work].kind) {
        (CallKind::Copy { places, .. }, WorkKind::Copy { from, to, .. }) => {
            let sides = [(places.from, from), (places.to, to)];
            let on_device = sides.into_iter().filter(|(_, kind)| !kind.is_on_host());
            on_device.filter_map(|(address, _)| address).collect()
        }
        (CallKind::Clear { target, .. }, _) => target.iter().copied().collect(),
        (CallKind::Launch { pointers, .. }, _) => pointers.clone(),
        _ => Vec::new(),
    }
}
