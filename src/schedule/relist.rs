//! Better lists by time, with other ranks.

use super::graph::TaskGraph;
use super::list::{Choice, Listed, place_by, ranks};
use super::prices::{Prices, Processor};
use crate::units::Span;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// At most so many ranks change at once.
const CHANGES: usize = 4;
/// A changed rank is from this many times to this many times what it was.
const FACTORS: std::ops::Range<f64> = 0.7..1.4;

/// Changes the ranks of a few nodes at random, again and again, and keeps what does not end later,
/// until places were looked for so many times. `None` if a node cannot be on any processor.
///
/// The rank of the longest way to the end is a good priority, and not always the best one: which of
/// two nodes with nearly equal ranks goes first is only known once both are placed.
pub(super) fn relisted(
    (graph, prices): (&TaskGraph<'_>, &Prices),
    processors: &[Processor],
    budget: u64,
    random: &mut ChaCha8Rng,
) -> Option<Listed> {
    let mut best = ranks(graph, prices, processors)?;
    let list = |ranks: &[Span]| place_by(ranks, (graph, prices), processors, Choice::ByTime);
    let (mut end, mut listed, mut tried) = list(&best)?;
    while tried < budget {
        let mut changed = best.clone();
        for _ in 0..random.random_range(1..=CHANGES) {
            let rank = &mut changed[random.random_range(0..best.len())];
            *rank = Span::from_nanos_f64(rank.nanos_f64() * random.random_range(FACTORS));
        }
        let (changed_end, changed_listed, more) = list(&changed)?;
        tried += more;
        if changed_end <= end {
            (best, end, listed) = (changed, changed_end, changed_listed);
        }
    }
    Some(listed)
}
