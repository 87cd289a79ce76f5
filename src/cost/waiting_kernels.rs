//! What kernels that wait cost others: kernels that run, and copies to the device, over whose link
//! the commands of waiting kernels are read again and again.

use super::call::CompiledCall;
use super::entries::EntryId;
use super::layout::Layout;
use super::work::{CallCost, Work, WorkKind};
use crate::machine::Direction;
use crate::profile::{Known, Profile};

/// The streams in which kernels may wait.
#[derive(Debug, Default)]
pub(crate) struct WaitingKernels {
    /// The streams that have kernels.
    pub launching: Vec<u16>,
    /// For each entry, the end of the row of kernels that begins with it, in which each waits only
    /// for the one before it. Empty unless several streams have kernels.
    pub rows: Vec<EntryId>,
    /// The streams whose waiting kernels slow copies. Empty unless a device that copies are made to
    /// has several.
    pub refetched: Vec<u16>,
}

impl WaitingKernels {
    pub fn new(layout: &Layout, costs: &[CallCost]) -> Self {
        let launching = launching(layout, |_| true);
        let rows = if launching.len() > 1 { layout.entries.rows() } else { Vec::new() };
        Self { launching, rows, refetched: refetched(layout, costs) }
    }

    /// # Errors
    /// If kernels may wait, and the profile does not know what that costs.
    pub fn are_known(&self, (layout, costs): (&Layout, &[CallCost]), profile: &Profile) -> Known {
        check_polling((layout, costs), &self.launching, profile)?;
        if self.refetched.is_empty() { Ok(()) } else { profile.knows_refetching() }
    }
}

/// The streams that have kernels which count.
fn launching(layout: &Layout, counts: impl Fn(&CompiledCall) -> bool) -> Vec<u16> {
    let mut launches = vec![false; layout.streams()];
    for call in layout.calls.iter().filter(|call| call.kind == WorkKind::KERNEL) {
        launches[usize::from(call.stream)] |= counts(call);
    }
    (0..).zip(launches).filter_map(|(stream, launches)| launches.then_some(stream)).collect()
}

/// Checks that the profile knows what waiting kernels cost running ones. Only where several streams
/// of a device have kernels can one wait while another runs.
fn check_polling(
    (layout, costs): (&Layout, &[CallCost]),
    launching: &[u16],
    profile: &Profile,
) -> Known {
    let mut devices: Vec<usize> = launching.iter().map(|&id| layout.device_of(id)).collect();
    devices.sort_unstable();
    if devices.windows(2).all(|two| two[0] != two[1]) {
        return Ok(());
    }
    let mut copies = [false; 2];
    for cost in costs {
        if let Work::Copy { direction, .. } | Work::Staged { direction, .. } = cost.work {
            copies[direction as usize] = true;
        }
    }
    profile.knows_polling(copies)
}

/// The streams with kernels outside of graphs, on devices that have several such streams and that
/// copies are made to.
fn refetched(layout: &Layout, costs: &[CallCost]) -> Vec<u16> {
    let cost_of = |call: &CompiledCall| &costs[call.cost as usize];
    let launching = launching(layout, |call| !cost_of(call).in_graph);
    let mut is_copied_to = vec![false; layout.devices()];
    for call in &layout.calls {
        if let Work::Copy { direction: Direction::HostToDevice, .. } = cost_of(call).work {
            is_copied_to[layout.device_of(call.stream)] = true;
        }
    }
    let on = |device: usize| {
        let here = launching.iter().copied().filter(|&id| layout.device_of(id) == device);
        let here: Vec<u16> = here.collect();
        if here.len() > 1 && is_copied_to[device] { here } else { Vec::new() }
    };
    (0..layout.devices()).flat_map(on).collect()
}
