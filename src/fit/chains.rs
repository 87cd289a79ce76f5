//! What a hand-over costs: going from one operation to the next that depends on it.
//!
//! A chain of one kind of operation gives its service time. A round trip of two operations takes as
//! long as a round trip of the first alone, plus the service time of the second, plus the hand-over
//! in between. The operations are long enough that the second is already there and waits when the
//! first ends, because only then is a hand-over paid: an operation that arrives later starts at
//! once.
//!
//! This is what the first operation of its kind in a stream pays. Operations behind it, in a queue
//! that does not run dry, pay less. Their hand-over comes from chains that visit all three engines
//! again and again: one turn takes three service times and three hand-overs.

use super::estimator::Estimator;
use crate::machine::{DeviceId, Direction};
use crate::profile::{Estimate, HandOver, OperationKind, Other};
use crate::samples::{CYCLES, LONG_COPY, LONG_KERNEL, Quantity};

/// Device time of the shortest operation of a kind, measured in a chain of them.
pub(super) fn service(estimator: &Estimator<'_>, link: OperationKind) -> Option<Estimate> {
    estimator.estimate_of(&Quantity::Chain { links: vec![link], across: false })
}

/// Device time of the long operation of a kind with which hand-overs are measured.
pub(super) fn long_service(estimator: &Estimator<'_>, link: OperationKind) -> Option<Estimate> {
    let copy = |direction| Quantity::Copy { direction, bytes: LONG_COPY };
    estimator.estimate_of(&match link {
        OperationKind::CopyIn => copy(Direction::HostToDevice),
        OperationKind::CopyOut => copy(Direction::DeviceToHost),
        OperationKind::Kernel => {
            Quantity::Kernel { variant: LONG_KERNEL.0, elements: LONG_KERNEL.1 }
        }
        OperationKind::PeerCopy => return long_peer_copy(estimator),
    })
}

/// Device time of a long copy from the first GPU to the second, whether or not the two reach each
/// other's memory directly.
fn long_peer_copy(estimator: &Estimator<'_>) -> Option<Estimate> {
    estimator.estimate(|quantity| match *quantity {
        Quantity::PeerCopy { from, to, bytes: LONG_COPY, both: false, .. } => {
            (from, to) == (DeviceId::FIRST, DeviceId(1))
        }
        _ => false,
    })
}

/// Host time of a round trip: from issuing operations, each depending on the one before, to the
/// return of a synchronisation.
pub(super) fn round_trip(
    estimator: &Estimator<'_>,
    links: &[OperationKind],
    across: bool,
    long: bool,
) -> Option<Estimate> {
    estimator.estimate_of(&Quantity::RoundTrip { links: links.to_vec(), across, long })
}

/// The hand-overs that were measured. Between two operations of one kind in one stream there is
/// none of its own: it is part of the service time.
pub(super) fn hand_overs(estimator: &Estimator<'_>) -> Vec<HandOver> {
    let mut all = Vec::new();
    for across in [false, true] {
        let services = OperationKind::OF_ONE_DEVICE.map(|link| service(estimator, link));
        let queued = mean_hop(estimator, services, |links| Quantity::Chain { links, across });
        for (from, to) in
            OperationKind::ALL.into_iter().flat_map(|from| OperationKind::ALL.map(|to| (from, to)))
        {
            if from != to || across {
                all.extend(hand_over(estimator, (from, to), across, queued));
            }
        }
    }
    all
}

/// One hand-over, from a measurement of itself or else from round trips. Without chains through all
/// engines, operations further back in a queue are taken to pay as much as the first.
fn hand_over(
    estimator: &Estimator<'_>,
    (from, to): (OperationKind, OperationKind),
    across: bool,
    queued: Option<Estimate>,
) -> Option<HandOver> {
    let first = estimator.estimate_of(&Quantity::HandOver { from, to, across }).or_else(|| {
        let both = round_trip(estimator, &[from, to], across, true)?;
        let alone = round_trip(estimator, &[from], false, true)?;
        Some(both.without(alone.ns + long_service(estimator, to)?.ns))
    })?;
    // The chains visit the engines of one device only.
    let queued = queued.filter(|_| ![from, to].contains(&OperationKind::PeerCopy));
    let queued = queued.map_or(first, |queued| queued.at_most(first.ns));
    Some(HandOver { from, to, across_streams: across, first, queued })
}

/// The mean hand-over in chains that go through all engines of a device; `services` are the device
/// times of one operation on each.
pub(super) fn mean_hop(
    estimator: &Estimator<'_>,
    services: [Option<Estimate>; 3],
    chain: impl Fn(Vec<OperationKind>) -> Quantity,
) -> Option<Estimate> {
    let hops = (services.len() * CYCLES.len()) as f64;
    let services: f64 = services.into_iter().map(|time| Some(time?.ns)).sum::<Option<_>>()?;
    let (mut mean, mut other) = (Estimate::new(0.0, 0.0), Other { ns: 0.0, share: 0.0 });
    for links in CYCLES {
        let turn = estimator.estimate_of(&chain(links.to_vec()))?;
        let hop = turn.without(services);
        let rare = hop.other.unwrap_or(Other { ns: hop.ns, share: 0.0 });
        mean.ns += hop.ns / hops;
        mean.scatter = mean.scatter.max(hop.scatter);
        other.ns += rare.ns / hops;
        other.share += rare.share / CYCLES.len() as f64;
    }
    mean.other = (other.share > 0.0).then_some(other);
    Some(mean)
}
