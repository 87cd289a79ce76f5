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

use super::lookup::Lookup;
use crate::machine::{DeviceId, Direction};
use crate::profile::{Estimate, HandOver, OperationKind, Other};
use crate::samples::{CYCLES, LONG_COPY, LONG_KERNEL, Link, Quantity};

pub(super) const fn kind(link: Link) -> OperationKind {
    match link {
        Link::CopyIn => OperationKind::CopyIn,
        Link::CopyOut => OperationKind::CopyOut,
        Link::Kernel => OperationKind::Kernel,
        Link::PeerCopy => OperationKind::PeerCopy,
    }
}

/// Device time of the shortest operation of a kind, measured in a chain of them.
pub(super) fn service(lookup: &Lookup<'_>, link: Link) -> Option<Estimate> {
    lookup.estimate_of(&Quantity::Chain { links: vec![link], across: false })
}

/// Device time of the long operation of a kind with which hand-overs are measured.
pub(super) fn long_service(lookup: &Lookup<'_>, link: Link) -> Option<Estimate> {
    let copy = |direction| Quantity::Copy { direction, bytes: LONG_COPY, registered: false };
    lookup.estimate_of(&match link {
        Link::CopyIn => copy(Direction::HostToDevice),
        Link::CopyOut => copy(Direction::DeviceToHost),
        Link::Kernel => Quantity::Kernel { variant: LONG_KERNEL.0, elements: LONG_KERNEL.1 },
        Link::PeerCopy => return long_peer_copy(lookup),
    })
}

/// Device time of a long copy from the first GPU to the second, whether or not the two reach each
/// other's memory directly.
fn long_peer_copy(lookup: &Lookup<'_>) -> Option<Estimate> {
    lookup.estimate(|quantity| match *quantity {
        Quantity::PeerCopy { from, to, bytes: LONG_COPY, both: false, .. } => {
            (from, to) == (DeviceId::FIRST, DeviceId(1))
        }
        _ => false,
    })
}

/// Host time of a round trip: from issuing operations, each depending on the one before, to the
/// return of a synchronisation.
pub(super) fn round_trip(
    lookup: &Lookup<'_>,
    links: &[Link],
    across: bool,
    long: bool,
) -> Option<Estimate> {
    lookup.estimate_of(&Quantity::RoundTrip { links: links.to_vec(), across, long })
}

/// The hand-overs that were measured. Between two operations of one kind in one stream there is
/// none of its own: it is part of the service time.
pub(super) fn hand_overs(lookup: &Lookup<'_>) -> Vec<HandOver> {
    let mut all = Vec::new();
    for across in [false, true] {
        let services = Link::OF_ONE_DEVICE.map(|link| service(lookup, link));
        let queued = mean_hop(lookup, services, |links| Quantity::Chain { links, across });
        for (from, to) in Link::ALL.into_iter().flat_map(|from| Link::ALL.map(|to| (from, to))) {
            if from != to || across {
                all.extend(hand_over(lookup, (from, to), across, queued));
            }
        }
    }
    all
}

/// One hand-over, from a measurement of itself or else from round trips. Without chains through all
/// engines, operations further back in a queue are taken to pay as much as the first.
fn hand_over(
    lookup: &Lookup<'_>,
    (from, to): (Link, Link),
    across: bool,
    queued: Option<Estimate>,
) -> Option<HandOver> {
    let first = lookup.estimate_of(&Quantity::HandOver { from, to, across }).or_else(|| {
        let both = round_trip(lookup, &[from, to], across, true)?;
        let alone = round_trip(lookup, &[from], false, true)?;
        Some(both.without(alone.ns + long_service(lookup, to)?.ns))
    })?;
    // The chains visit the engines of one device only.
    let queued = queued.filter(|_| ![from, to].contains(&Link::PeerCopy));
    let queued = queued.map_or(first, |queued| queued.at_most(first.ns));
    Some(HandOver { from: kind(from), to: kind(to), across_streams: across, first, queued })
}

/// The mean hand-over in chains that go through all engines of a device; `services` are the device
/// times of one operation on each.
pub(super) fn mean_hop(
    lookup: &Lookup<'_>,
    services: [Option<Estimate>; 3],
    chain: impl Fn(Vec<Link>) -> Quantity,
) -> Option<Estimate> {
    let hops = (services.len() * CYCLES.len()) as f64;
    let services: f64 = services.into_iter().map(|time| Some(time?.ns)).sum::<Option<_>>()?;
    let (mut mean, mut other) = (Estimate::new(0.0, 0.0), Other { ns: 0.0, share: 0.0 });
    for links in CYCLES {
        let turn = lookup.estimate_of(&chain(links.to_vec()))?;
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
