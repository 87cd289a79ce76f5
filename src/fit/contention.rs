//! What copies cost each other, and what loads beside them do.

use super::lookup::{Lookup, nanos};
use crate::plan::Direction;
use crate::profile::{Contention, Curve};
use crate::samples::{Measurement, Quantity};
use crate::stats::{Line, median, quantile, relative_spread, theil_sen};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// For each direction, what a copy takes longer while the other direction is
/// busy, if copies of two sizes say so; and the relative scatter of that. `alone`: the
/// copies of each direction while the other is quiet.
pub(super) fn contention(
    lookup: &Lookup<'_>,
    alone: [Option<&Curve>; 2],
) -> ([Option<Contention>; 2], f64) {
    let (mut found, mut scatters) = ([None, None], Vec::new());
    for (side, wanted) in Direction::BOTH.into_iter().enumerate() {
        let mut sizes = BySize::new();
        for one in lookup.measurements() {
            let Quantity::Shared { direction, bytes } = one.quantity else { continue };
            let time = alone[side].and_then(|curve| curve.known(bytes.as_f64()).ok());
            let Some(time) = time.filter(|_| direction == wanted) else { continue };
            let other = Quantity::Shared { direction: Direction::BOTH[1 - side], bytes };
            let slow = slowdowns(one, time, at_once(lookup, one, &other));
            if !slow.is_empty() {
                let longer = slow.iter().map(|slowdown| (slowdown - 1.0) * time);
                sizes.entry(bytes).or_default().push(longer.collect());
            }
        }
        // Visits of one sample have no scatter of their own to tell.
        let large = sizes.range(BOTH_WAYS_STRAIGHT..).map(|(_, visits)| visits.concat());
        scatters.extend(large.filter_map(|longer| relative_spread(&longer)));
        found[side] = contention_of(&sizes);
    }
    (found, median(&scatters).unwrap_or(0.0))
}

/// Nanoseconds that copies of a size take longer, visit by visit: some at each.
type BySize = BTreeMap<Bytes, Vec<Vec<f64>>>;

/// What was measured at once with a measurement: the same visit of another quantity.
pub(super) fn at_once<'l>(
    lookup: &'l Lookup<'_>,
    one: &Measurement,
    other: &Quantity,
) -> Option<&'l Measurement> {
    let before = lookup.measurements().take_while(|m| !std::ptr::eq(*m, one));
    let visit = before.filter(|m| m.quantity == one.quantity).count();
    lookup.measurements().filter(|m| m.quantity == *other).nth(visit)
}

/// From this size on, what a copy of both directions takes longer besides a part for each byte is
/// the same. Below, that grows with the size.
const BOTH_WAYS_STRAIGHT: Bytes = Bytes::mib(1);

/// Engines that run freely fall in step now and then, and hide their starts behind each other as
/// plans that tie them together do not. At such a visit, copies take less than this share of what
/// they take longer at others: at the middle one of the slower half, of two at the slower one.
const IN_STEP: f64 = 0.5;

/// The share of moments that are the best.
const BEST: f64 = 0.1;

/// Size by size: what each copy takes longer where they are small, and each byte where they are
/// large. A line through all, if fewer than two sizes are large.
fn contention_of(sizes: &BySize) -> Option<Contention> {
    let of_visits = |visits: &[Vec<f64>]| -> Vec<f64> {
        visits.iter().filter_map(|longer| median(longer)).collect()
    };
    let line = line_through_largest(sizes);
    let (per_copy_ns, per_byte_ns) = line.or_else(|| {
        let points = |(bytes, visits): (&Bytes, &Vec<Vec<f64>>)| {
            let bytes = bytes.as_f64();
            of_visits(visits).into_iter().map(move |ns| (bytes, ns))
        };
        let Line { intercept, slope } =
            theil_sen(&sizes.iter().flat_map(points).collect::<Vec<_>>())?;
        Some((intercept.max(0.0), slope.max(0.0)))
    })?;
    let per_byte = |(bytes, visits): (&Bytes, &Vec<Vec<f64>>)| {
        let bytes = bytes.as_f64();
        Some((bytes, (median(&visits.concat())? - per_copy_ns).max(0.0) / bytes))
    };
    let large = sizes.range(BOTH_WAYS_STRAIGHT..).filter(|_| line.is_some());
    let per_bytes: Vec<(f64, f64)> = large.filter_map(per_byte).collect();
    let per_byte_of_smallest = per_bytes.first().map_or(per_byte_ns, |smallest| smallest.1);
    let knot = |(bytes, visits): (&Bytes, &Vec<Vec<f64>>)| {
        let mut longer = of_visits(visits);
        longer.sort_unstable_by(f64::total_cmp);
        let usual = median(&longer[longer.len() / 2..])?;
        longer.retain(|&ns| ns >= IN_STEP * usual);
        let bytes = bytes.as_f64();
        Some((bytes, (median(&longer)? - per_byte_of_smallest * bytes).max(0.0)))
    };
    let small = sizes.range(..BOTH_WAYS_STRAIGHT).filter(|_| line.is_some());
    let mut knots: Vec<(f64, f64)> = small.filter_map(knot).collect();
    let per_small_copy = (!knots.is_empty()).then(|| {
        knots.push((BOTH_WAYS_STRAIGHT.as_f64(), per_copy_ns));
        Curve { knots, scatter: 0.0 }
    });
    let largest = sizes.range(BOTH_WAYS_STRAIGHT..).next_back();
    let at_best_per_byte_ns = largest.and_then(|(bytes, visits)| {
        Some((quantile(&visits.concat(), BEST)? / bytes.as_f64()).max(0.0))
    });
    let per_byte = (!per_bytes.is_empty()).then_some(Curve { knots: per_bytes, scatter: 0.0 });
    Some(Contention { per_copy_ns, per_byte_ns, per_byte, at_best_per_byte_ns, per_small_copy })
}

/// What each copy and each byte takes longer: of all lines through the middle of the largest size,
/// on which the rate goes, and that of another large one, the one with the middle intercept. `None`
/// if there is no other.
fn line_through_largest(sizes: &BySize) -> Option<(f64, f64)> {
    let large = sizes.range(BOTH_WAYS_STRAIGHT..);
    let middle = |(bytes, visits): (&Bytes, &Vec<Vec<f64>>)| {
        Some((bytes.as_f64(), median(&visits.concat())?))
    };
    let middles: Vec<(f64, f64)> = large.filter_map(middle).collect();
    let (&(most, longest), others) = middles.split_last()?;
    let intercept =
        |&(bytes, longer): &(f64, f64)| (longer * most - longest * bytes) / (most - bytes);
    let intercepts: Vec<f64> = others.iter().map(intercept).collect();
    let per_copy_ns = median(&intercepts)?.max(0.0);
    Some((per_copy_ns, ((longest - per_copy_ns) / most).max(0.0)))
}

/// How many times longer what was measured took while something else, such as the
/// other direction, was busy too; `alone`: nanoseconds of one repetition otherwise.
pub(super) fn slowdowns(one: &Measurement, alone: f64, other: Option<&Measurement>) -> Vec<f64> {
    let work = alone * one.count as f64;
    let times = nanos(&one.times);
    // Both began at once, and whichever was busy longer had the link to itself
    // at the end. Without the other's time, it was busy throughout.
    let others = other.map_or_else(|| times.clone(), |other| nanos(&other.times));
    let slow = |(time, other): (f64, f64)| {
        let both = time.min(other);
        let meanwhile = work - (time - both);
        (meanwhile > 0.0).then(|| (both / meanwhile).max(1.0))
    };
    times.into_iter().zip(others).filter_map(slow).collect()
}
