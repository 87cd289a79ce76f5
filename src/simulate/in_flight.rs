//! Which copies may be under way when a call is made.

use crate::machine::{Direction, HostMemory};
use crate::program::{Call, Order, Passed, Place, Program};
use std::collections::BTreeSet;

/// What a plan does while copies may be under way.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The synchronisations, by their places in the body, after which no copy of their device is
    /// under way.
    pub ending: BTreeSet<usize>,
    /// Whether a copy is staged beside one of pinned memory that goes the same way.
    pub stages: bool,
}

/// A copy that was issued: its lane and number there, its device and direction (`None` to another
/// device), and whether its host memory is pinned.
struct Issued {
    at: (usize, usize),
    device: usize,
    direction: Option<Direction>,
    is_pinned: bool,
}

impl InFlight {
    pub fn of(plan: &Program) -> Self {
        let mut found = Self::default();
        let (mut order, mut issued) = (Order::new(plan), Vec::<Issued>::new());
        for at in 0..plan.body.len() {
            let Some((call, Passed { lane, number, known })) = order.pass() else { break };
            let under_way = |copy: &Issued| known[copy.at.0] < copy.at.1;
            match *call {
                Call::Synchronize { stream } => {
                    let known = order.known_to_host();
                    issued.retain(|copy| known[copy.at.0] < copy.at.1);
                    let device = plan.device_of(stream).0;
                    if issued.iter().all(|copy| copy.device != device) {
                        found.ending.insert(at);
                    }
                }
                Call::Copy { stream, direction, ref from, ref to } => {
                    let device = plan.device_of(stream).0;
                    let ashore = direction.ashore(from, to).allocation;
                    let is_pinned =
                        plan.allocation(ashore).place == Place::Host(HostMemory::Pinned);
                    let is_beside = |copy: &Issued| {
                        let this_way = (copy.device, copy.direction) == (device, Some(direction));
                        this_way && copy.is_pinned && under_way(copy)
                    };
                    found.stages |= !is_pinned && issued.iter().any(is_beside);
                    let at = (lane, number.unwrap_or_default());
                    issued.push(Issued { at, device, direction: Some(direction), is_pinned });
                }
                Call::PeerCopy { stream, .. } => {
                    let (device, at) =
                        (plan.device_of(stream).0, (lane, number.unwrap_or_default()));
                    issued.push(Issued { at, device, direction: None, is_pinned: false });
                }
                _ => {}
            }
        }
        found
    }
}
