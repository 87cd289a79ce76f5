//! Copies of pinned memory, and what a copy engine pays for going from stream to stream.

use super::estimator::{Estimator, pick, sized};
use crate::machine::Direction;
use crate::profile::{CopyModel, Curve};
use crate::samples::Quantity;
use crate::units::Bytes;
use std::ops::RangeInclusive;

/// Curves of copies of pinned memory.
pub(super) fn copies(estimator: &Estimator<'_>) -> Vec<CopyModel> {
    let curve = |direction| estimator.curve(sized(|bytes| Quantity::Copy { direction, bytes }));
    let model = |direction| curve(direction).map(|time| CopyModel { direction, time });
    Direction::BOTH.into_iter().filter_map(model).collect()
}

/// Nanoseconds of a copy of pinned memory, if copies of that size were measured.
pub(super) fn copy_time(copies: &[CopyModel], direction: Direction, bytes: Bytes) -> Option<f64> {
    curve_of(copies, direction)?.known(bytes.as_f64()).ok()
}

pub(super) fn curve_of(copies: &[CopyModel], direction: Direction) -> Option<&Curve> {
    copies.iter().find(|model| model.direction == direction).map(|model| &model.time)
}

/// The size of the copies that an engine took in turn from several streams, or from branches of a
/// graph.
pub(super) fn rotated(estimator: &Estimator<'_>, wanted: Direction, inside: bool) -> Option<Bytes> {
    estimator.first(pick!(Quantity::Rotation { direction, bytes, in_graph, .. }
        if (direction, in_graph) == (wanted, inside) => bytes))
}

/// Nanoseconds that a copy takes longer when its engine comes from another stream, or another
/// branch of a graph, over the number of these. `copy` gives the nanoseconds of a copy before which
/// the engine stays with its stream, for a number of streams and the range of kernels that each of
/// them holds from the first to the last copy.
pub(super) fn switch(
    estimator: &Estimator<'_>,
    wanted: Direction,
    (size, inside): (Bytes, bool),
    copy: impl Fn(usize, RangeInclusive<u64>) -> Option<f64>,
) -> Option<Curve> {
    let number = &sized(|streams: u64| Quantity::Rotation {
        direction: wanted,
        bytes: size,
        streams: streams as usize,
        in_graph: inside,
    });
    let (turns, _) = estimator.points(number)?;
    // While the copies of one turn run, the kernels of all later turns wait. Times of many turns
    // have those of a few turns subtracted, so only the turns beyond these few count.
    let held = |streams: u64| {
        let same = estimator.measurements().filter(move |m| number(&m.quantity) == Some(streams));
        let (few, many) =
            same.fold((u64::MAX, 0), |(few, many), m| (few.min(m.count), many.max(m.count)));
        let first = if few < many { few + 1 } else { 1 };
        first..=many
    };
    let knot = |(streams, ns): (f64, f64)| {
        Some((streams, (ns / streams - copy(streams as usize, held(streams as u64))?).max(0.0)))
    };
    let knots: Option<Vec<(f64, f64)>> = turns.into_iter().map(knot).collect();
    Some(Curve { knots: std::iter::once((1.0, 0.0)).chain(knots?).collect(), scatter: 0.0 })
}
