//! Better lists by time, with other ranks.

use super::graph::TaskGraph;
use super::list::{Choice, Listed, place_by};
use super::prices::{Prices, Processor};
use super::ranks::ranks;
use crate::units::Span;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// At most so many ranks change at once.
const CHANGES: usize = 4;
/// A changed rank differs from that of the longest way by at most this part of the longest of all.
const FARTHEST: f64 = 0.1;

/// Changes the ranks of a few nodes at random, again and again, and keeps what does not end later,
/// until nodes were tried on so many processors. `None` if a node cannot be on any processor.
///
/// The rank of the longest way to the end is a good priority, and not always the best one: which of
/// two nodes with nearly equal ranks goes first is only known once both are placed.
pub(super) fn relisted(
    (graph, prices): (&TaskGraph<'_>, &Prices),
    processors: &[Processor],
    budget: u64,
    random: &mut ChaCha8Rng,
) -> Option<Listed> {
    let ranks = ranks(graph, prices, processors)?;
    let far = FARTHEST * ranks.iter().max()?.nanos_f64();
    let mut best = ranks.clone();
    let list = |ranks: &[Span]| place_by(ranks, (graph, prices), processors, Choice::ByTime);
    let (mut end, mut listed, mut tried) = list(&best)?;
    // A list takes the first of nodes with equal ranks first. The last first may be better.
    let last_first: Vec<Span> =
        ranks.iter().zip(0..).map(|(&rank, node)| rank + Span::from_nanos(node)).collect();
    if let Some((other_end, other_listed, _)) = list(&last_first)
        && other_end < end
    {
        (best, end, listed) = (last_first, other_end, other_listed);
    }
    while tried < budget {
        let mut changed = best.clone();
        for _ in 0..random.random_range(1..=CHANGES) {
            let node = random.random_range(0..ranks.len());
            let rank = ranks[node].nanos_f64() + random.random_range(-far..=far);
            changed[node] = Span::from_nanos_f64(rank.max(0.0));
        }
        let (changed_end, changed_listed, more) = list(&changed)?;
        tried += more;
        if changed_end <= end {
            (best, end, listed) = (changed, changed_end, changed_listed);
        }
    }
    Some(listed)
}
