//! How far each node is from the end of the work.

use super::graph::TaskGraph;
use super::prices::{Prices, Processor};
use crate::machine::Direction;
use crate::units::Span;

/// The upward rank of each node.
pub(super) fn ranks(
    graph: &TaskGraph<'_>,
    prices: &Prices,
    processors: &[Processor],
) -> Option<Vec<Span>> {
    let crosses = processors.len() > 1;
    let mut ranks = vec![Span::ZERO; graph.nodes.len()];
    for (id, node) in graph.nodes.iter().enumerate().rev() {
        let known: Vec<Span> =
            processors.iter().filter_map(|&on| prices.of(graph, id, on)).collect();
        let sum = known.iter().copied().sum::<Span>().nanos();
        let mean = Span::from_nanos(sum.checked_div(known.len() as u64)?);
        let mut behind = Span::ZERO;
        for &item in &node.writes {
            let goes_out = prices.copy(item, Direction::DeviceToHost);
            if graph.items[item].goes_home.is_some() {
                behind = behind.max(goes_out);
            }
            // Two of a processor's neighbours are on the same side on average.
            let moves = if crosses { Span::from_nanos(goes_out.nanos() / 2) } else { Span::ZERO };
            for &reader in graph.items[item].readers.iter().filter(|&&reader| reader != id) {
                behind = behind.max(moves + ranks[reader]);
            }
        }
        let others = node.behind.iter().map(|&other| ranks[other]).max().unwrap_or_default();
        ranks[id] = mean + behind.max(others);
    }
    Some(ranks)
}
