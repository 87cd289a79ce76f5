//! What it costs to go from one operation to the next.
//!
//! A chain of small operations takes, per turn, the service time of each
//! operation and the hand-over between each and the next, the last to the
//! first included. Chains of one kind of operation give the service times;
//! the others give as many equations for the hand-overs, which are solved for
//! non-negative costs of least norm (Lawson & Hanson, "Solving Least Squares
//! Problems", 1974).

use super::FitError;
use super::lookup::Lookup;
use crate::profile::{Estimate, HandOver, OperationKind};
use crate::samples::{Link, Quantity};
use crate::stats::nonnegative_least_squares;

/// Service times of a kernel without work and of copies of a few bytes.
pub(super) struct Services([Estimate; 3]);

const LINKS: [Link; 3] = [Link::CopyIn, Link::CopyOut, Link::Kernel];

impl Services {
    pub fn of(&self, link: Link) -> Estimate {
        self.0[index(link)]
    }
}

fn index(link: Link) -> usize {
    LINKS.iter().position(|&other| other == link).expect("LINKS is all")
}

const fn kind(link: Link) -> OperationKind {
    match link {
        Link::CopyIn => OperationKind::CopyIn,
        Link::CopyOut => OperationKind::CopyOut,
        Link::Kernel => OperationKind::Kernel,
    }
}

pub(super) fn services(lookup: &Lookup<'_>) -> Result<Services, FitError> {
    let service = |link| {
        lookup.needed("chains of small operations", |quantity| {
            *quantity == Quantity::Chain { links: vec![link], across: false }
        })
    };
    Ok(Services([service(LINKS[0])?, service(LINKS[1])?, service(LINKS[2])?]))
}

pub(super) fn hand_overs(lookup: &Lookup<'_>, services: &Services) -> Vec<HandOver> {
    [false, true].into_iter().flat_map(|across| solved(lookup, services, across)).collect()
}

fn solved(lookup: &Lookup<'_>, services: &Services, across: bool) -> Vec<HandOver> {
    let pairs: Vec<(Link, Link)> = LINKS
        .into_iter()
        .flat_map(|from| LINKS.map(|to| (from, to)))
        // Within a stream, what follows its own kind is the service time itself.
        .filter(|(from, to)| across || from != to)
        .collect();
    let (mut rows, mut targets, mut scatters) = (Vec::new(), Vec::new(), Vec::new());
    for measurement in lookup.measurements() {
        let Quantity::Chain { links, across: found } = &measurement.quantity else { continue };
        let repeated = rows.iter().any(|(known, _): &(Vec<Link>, Vec<f64>)| known == links);
        if *found != across || repeated || (!across && links.len() == 1) {
            continue;
        }
        let Some(turn) = lookup.estimate(|quantity| *quantity == measurement.quantity) else {
            continue;
        };
        let mut row = vec![0.0; pairs.len()];
        for (at, &from) in links.iter().enumerate() {
            let to = links[(at + 1) % links.len()];
            if let Some(pair) = pairs.iter().position(|&pair| pair == (from, to)) {
                row[pair] += 1.0;
            }
        }
        let service: f64 = links.iter().map(|&link| services.of(link).ns).sum();
        rows.push((links.clone(), row));
        targets.push(turn.ns - service);
        scatters.push(turn.scatter);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let scatter = crate::stats::median(&scatters).unwrap_or(0.0);
    let rows: Vec<Vec<f64>> = rows.into_iter().map(|(_, row)| row).collect();
    let costs = nonnegative_least_squares(&rows, &targets);
    pairs
        .into_iter()
        .zip(costs)
        .map(|((from, to), ns)| HandOver {
            from: kind(from),
            to: kind(to),
            across_streams: across,
            time: Estimate { ns, scatter },
        })
        .collect()
}
