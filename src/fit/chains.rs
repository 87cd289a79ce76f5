//! What it costs to go from one operation to the next.
//!
//! A chain of one kind of operation gives its service time. A round trip of
//! two operations takes as long as that of the first alone, plus the service
//! time of the second, plus the hand-over in between. The operations are long
//! enough that the second is there and waits when the first ends: that is when
//! a hand-over is paid. What arrives later finds its way clear.
//!
//! That is what the first operation of its kind in a stream pays. What follows
//! in a queue that does not run dry pays less: on going round all engines again
//! and again, a turn takes the three service times and three hand-overs.

use super::FitError;
use super::lookup::Lookup;
use crate::plan::Direction;
use crate::profile::{Estimate, HandOver, OperationKind};
use crate::samples::{CYCLES, LONG_COPY, LONG_KERNEL, Link, Quantity};

const LINKS: [Link; 3] = [Link::CopyIn, Link::CopyOut, Link::Kernel];

const fn kind(link: Link) -> OperationKind {
    match link {
        Link::CopyIn => OperationKind::CopyIn,
        Link::CopyOut => OperationKind::CopyOut,
        Link::Kernel => OperationKind::Kernel,
    }
}

/// Device time of the shortest operation of a kind, one after the other.
pub(super) fn service(lookup: &Lookup<'_>, link: Link) -> Result<Estimate, FitError> {
    let wanted = Quantity::Chain { links: vec![link], across: false };
    lookup.needed("chains of small operations", |quantity| *quantity == wanted)
}

/// The same of the long operations that hand-overs are measured with.
fn long_service(lookup: &Lookup<'_>, link: Link) -> Result<Estimate, FitError> {
    let copy = |direction| Quantity::Copy { direction, bytes: LONG_COPY, registered: false };
    let wanted = match link {
        Link::CopyIn => copy(Direction::HostToDevice),
        Link::CopyOut => copy(Direction::DeviceToHost),
        Link::Kernel => Quantity::Kernel { variant: LONG_KERNEL.0, elements: LONG_KERNEL.1 },
    };
    lookup.needed("the operations of round trips", |quantity| *quantity == wanted)
}

/// Host time from issuing operations, each after the one before, to the return
/// of a synchronisation.
pub(super) fn round_trip(
    lookup: &Lookup<'_>,
    links: &[Link],
    across: bool,
    long: bool,
) -> Result<Estimate, FitError> {
    let wanted = Quantity::RoundTrip { links: links.to_vec(), across, long };
    lookup.needed("round trips", |quantity| *quantity == wanted)
}

pub(super) fn hand_overs(lookup: &Lookup<'_>) -> Result<Vec<HandOver>, FitError> {
    let mut all = Vec::new();
    for across_streams in [false, true] {
        // Without such chains, what follows is taken to pay like the first.
        let queued = queued(lookup, across_streams)?;
        for (from, to) in LINKS.into_iter().flat_map(|from| LINKS.map(|to| (from, to))) {
            // Within a stream, what follows its own kind is in the service time.
            if from == to && !across_streams {
                continue;
            }
            let both = round_trip(lookup, &[from, to], across_streams, true)?;
            let alone = round_trip(lookup, &[from], false, true)?;
            let ns = (both.ns - alone.ns - long_service(lookup, to)?.ns).max(0.0);
            all.push(HandOver {
                from: kind(from),
                to: kind(to),
                across_streams,
                first: Estimate { ns, scatter: both.scatter },
                queued: match queued {
                    Some(queued) => Estimate { ns: queued.ns.min(ns), ..queued },
                    None => Estimate { ns, scatter: both.scatter },
                },
            });
        }
    }
    Ok(all)
}

/// The mean hand-over of chains that go through all engines.
fn queued(lookup: &Lookup<'_>, across: bool) -> Result<Option<Estimate>, FitError> {
    let services: f64 =
        LINKS.iter().map(|&link| Ok(service(lookup, link)?.ns)).sum::<Result<_, FitError>>()?;
    let (mut sum, mut scatter) = (0.0, 0.0_f64);
    for links in CYCLES {
        let wanted = Quantity::Chain { links: links.to_vec(), across };
        let Some(turn) = lookup.estimate(|quantity| *quantity == wanted) else {
            return Ok(None);
        };
        sum += (turn.ns - services).max(0.0);
        scatter = scatter.max(turn.scatter);
    }
    Ok(Some(Estimate { ns: sum / (LINKS.len() * CYCLES.len()) as f64, scatter }))
}
