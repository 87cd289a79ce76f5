//! What kernels that wait cost others: kernels that run, and copies to the device, over whose link
//! the commands of waiting kernels are read again and again.

use super::body::Body;
use super::entries::EntryId;
use super::work::{CallCost, Work, WorkKind};
use crate::machine::Direction;
use crate::profile::{Known, Profile};

/// The streams in which kernels may wait.
#[derive(Debug, Clone)]
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
    /// # Errors
    /// If kernels may wait, and the profile does not know what that costs.
    pub fn new(body: &Body, profile: &Profile) -> Known<Self> {
        let launching = launching(body, |_| true);
        let rows = if launching.len() > 1 { body.entries.rows() } else { Vec::new() };
        check_polling(body, &launching, profile)?;
        let refetched = refetched(body);
        if !refetched.is_empty() {
            profile.knows_refetching()?;
        }
        Ok(Self { launching, rows, refetched })
    }
}

/// The streams that have kernels which count.
fn launching(body: &Body, counts: impl Fn(&CallCost) -> bool) -> Vec<u16> {
    let mut launches = vec![false; body.streams()];
    for call in body.calls.iter().filter(|call| call.kind == WorkKind::KERNEL) {
        launches[usize::from(call.stream)] |= counts(&body.costs[call.cost as usize]);
    }
    (0..).zip(launches).filter_map(|(stream, launches)| launches.then_some(stream)).collect()
}

/// Checks that the profile knows what waiting kernels cost running ones. Only where several streams
/// of a device have kernels can one wait while another runs.
fn check_polling(body: &Body, launching: &[u16], profile: &Profile) -> Known {
    let mut devices: Vec<usize> = launching.iter().map(|&id| body.device_of(id)).collect();
    devices.sort_unstable();
    if devices.windows(2).all(|two| two[0] != two[1]) {
        return Ok(());
    }
    let mut copies = [false; 2];
    for cost in &body.costs {
        if let Work::Copy { direction, .. } | Work::Staged { direction, .. } = cost.work {
            copies[direction as usize] = true;
        }
    }
    profile.knows_polling(copies)
}

/// The streams with kernels outside of graphs, on devices that have several such streams and that
/// copies are made to.
fn refetched(body: &Body) -> Vec<u16> {
    let launching = launching(body, |cost| !cost.in_graph);
    let mut is_copied_to = vec![false; body.devices()];
    for call in &body.calls {
        let work = &body.costs[call.cost as usize].work;
        if let Work::Copy { direction: Direction::HostToDevice, .. } = work {
            is_copied_to[body.device_of(call.stream)] = true;
        }
    }
    let on = |device: usize| {
        let here = launching.iter().copied().filter(|&id| body.device_of(id) == device);
        let here: Vec<u16> = here.collect();
        if here.len() > 1 && is_copied_to[device] { here } else { Vec::new() }
    };
    (0..body.devices()).flat_map(on).collect()
}
