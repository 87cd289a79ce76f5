//! How much copies slow each other down, and how much other loads slow them down.

use super::lookup::{Lookup, nanos};
use crate::machine::Direction;
use crate::profile::{Contention, Curve};
use crate::samples::{Measurement, Quantity};
use crate::stats::{Line, median, quantile, relative_spread, theil_sen};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// For each direction, what a copy takes longer while the other direction is busy and the copies of
/// each go round `around` bytes of host memory, where copies of at least two sizes were measured.
/// With it, the relative scatter of what large copies take longer. `alone` holds the curves of
/// copies in each direction while the other is idle.
pub(super) fn contention(
    lookup: &Lookup<'_>,
    alone: [Option<&Curve>; 2],
    around: Bytes,
) -> ([Option<Contention>; 2], f64) {
    let (mut found, mut scatters) = ([None, None], Vec::new());
    for (side, wanted) in Direction::BOTH.into_iter().enumerate() {
        let mut sizes = BySize::new();
        for one in lookup.measurements() {
            let Quantity::Shared { direction, bytes, footprint } = one.quantity else { continue };
            let time = alone[side].and_then(|curve| curve.known(bytes.as_f64()).ok());
            let is_wanted = (direction, footprint) == (wanted, around);
            let Some(time) = time.filter(|_| is_wanted) else { continue };
            let other = Direction::BOTH[1 - side];
            let other = Quantity::Shared { direction: other, bytes, footprint };
            let slow = slowdowns(one, time, at_once(lookup, one, &other));
            if !slow.is_empty() {
                let longer = slow.iter().map(|slowdown| (slowdown - 1.0) * time);
                sizes.entry(bytes).or_default().push(longer.collect());
            }
        }
        // A visit is too small a sample to have a scatter of its own, so the visits of a size are
        // pooled.
        let large = sizes.range(LARGE..).map(|(_, visits)| visits.concat());
        scatters.extend(large.filter_map(|longer| relative_spread(&longer)));
        found[side] = contention_of(&sizes);
    }
    (found, median(&scatters).unwrap_or(0.0))
}

/// Nanoseconds that a copy takes longer beside kernels, over its bytes. Every visit measures with
/// and without kernels, so that a disturbance of the whole visit cancels in the difference.
pub(super) fn beside_kernels(lookup: &Lookup<'_>, wanted: Direction) -> Option<Curve> {
    let mut knots = BTreeMap::<Bytes, Vec<f64>>::new();
    for beside in lookup.measurements() {
        let Quantity::CopyBesideKernels { direction, bytes, kernels: true } = beside.quantity
        else {
            continue;
        };
        let without = Quantity::CopyBesideKernels { direction, bytes, kernels: false };
        let is_wanted = direction == wanted;
        let Some(without) = is_wanted.then(|| at_once(lookup, beside, &without)).flatten() else {
            continue;
        };
        // While the first copy runs, no kernel runs yet.
        let besides = beside.count.saturating_sub(1).max(1) as f64;
        let pairs = nanos(&beside.times).into_iter().zip(nanos(&without.times));
        let longer = pairs.map(|(beside, without)| (beside - without) / besides);
        knots.entry(bytes).or_default().extend(longer);
    }
    let knot =
        |(bytes, longer): (Bytes, Vec<f64>)| Some((bytes.as_f64(), median(&longer)?.max(0.0)));
    let knots: Vec<(f64, f64)> = knots.into_iter().filter_map(knot).collect();
    (!knots.is_empty()).then_some(Curve { knots, scatter: 0.0 })
}

/// By copy size, the nanoseconds that a copy takes longer: one list of samples for each visit.
type BySize = BTreeMap<Bytes, Vec<Vec<f64>>>;

/// The measurement of quantity `other` that was taken in the same visit as `one`.
pub(super) fn at_once<'l>(
    lookup: &'l Lookup<'_>,
    one: &Measurement,
    other: &Quantity,
) -> Option<&'l Measurement> {
    let before = lookup.measurements().take_while(|m| !std::ptr::eq(*m, one));
    let visit = before.filter(|m| m.quantity == one.quantity).count();
    lookup.measurements().filter(|m| m.quantity == *other).nth(visit)
}

/// From this size on, copies in both directions slow each other by a fixed time for each copy plus
/// a time for each byte. Below it, the fixed time still grows with the size.
const LARGE: Bytes = Bytes::mib(1);

/// Up to this size, the time for each byte is usually constant too: such copies are too short to
/// meet traffic of others on the link.
const MEETS_NOBODY: Bytes = Bytes::mib(4);

/// A visit counts as in step if copies slow down by less than this share of the usual slowdown,
/// which is the median over the slower half of visits (of two visits, the slower one). Engines that
/// run freely fall into step now and then, and hide their starts behind each other. In a plan,
/// operations tie the engines together, and that does not happen.
const IN_STEP: f64 = 0.5;

/// The best moments are this share of all moments.
const BEST: f64 = 0.1;

/// Summarises slowdowns by copy size: a time per copy for small sizes, and a time per byte for
/// large ones. With fewer than two large sizes, one line through all sizes gives both.
fn contention_of(sizes: &BySize) -> Option<Contention> {
    let middles = sizes.iter().map(|(&bytes, visits)| Some((bytes, median(&visits.concat())?)));
    let middles: Vec<(Bytes, f64)> = middles.collect::<Option<_>>()?;
    let large = middles.partition_point(|&(bytes, _)| bytes < LARGE);
    let (small, large) = middles.split_at(large);
    let (&[(_, least), .., (largest, _)], true) = (large, large.len() > 1) else {
        let Line { intercept, slope } = line(&middles)?;
        let (per_copy_ns, per_byte_ns) = (intercept.max(0.0), slope.max(0.0));
        return Some(Contention { per_copy_ns, per_byte_ns, ..Contention::NONE });
    };
    let short = large.partition_point(|&(bytes, _)| bytes <= MEETS_NOBODY);
    let straight = if short > 1 { &large[..short] } else { large };
    let per_copy_ns = line(straight)?.intercept.clamp(0.0, least.max(0.0));
    let per_byte = |&(bytes, longer): &(Bytes, f64)| {
        (bytes.as_f64(), (longer - per_copy_ns).max(0.0) / bytes.as_f64())
    };
    let per_byte: Vec<(f64, f64)> = large.iter().map(per_byte).collect();
    let knot = |&(bytes, _): &(Bytes, f64)| {
        let ns = tied(&sizes[&bytes])? - per_byte[0].1 * bytes.as_f64();
        Some((bytes.as_f64(), ns.max(0.0)))
    };
    let mut knots: Vec<(f64, f64)> = small.iter().filter_map(knot).collect();
    let per_small_copy = (!knots.is_empty()).then(|| {
        knots.push((LARGE.as_f64(), per_copy_ns));
        Curve { knots, scatter: 0.0 }
    });
    let best = quantile(&sizes[&largest].concat(), BEST)?;
    Some(Contention {
        per_copy_ns,
        per_byte_ns: per_byte[per_byte.len() - 1].1,
        per_byte: Some(Curve { knots: per_byte, scatter: 0.0 }),
        at_best_per_byte_ns: Some((best / largest.as_f64()).max(0.0)),
        per_small_copy,
    })
}

fn line(points: &[(Bytes, f64)]) -> Option<Line> {
    theil_sen(&points.iter().map(|&(bytes, ns)| (bytes.as_f64(), ns)).collect::<Vec<_>>())
}

/// The median slowdown over the visits at which the engines did not fall into step.
fn tied(visits: &[Vec<f64>]) -> Option<f64> {
    let mut longer: Vec<f64> = visits.iter().filter_map(|longer| median(longer)).collect();
    longer.sort_unstable_by(f64::total_cmp);
    let usual = median(&longer[longer.len() / 2..])?;
    longer.retain(|&ns| ns >= IN_STEP * usual);
    median(&longer)
}

/// How many times longer the work of `one` took while something else, such as the other direction,
/// was busy too: a slowdown for each sample. `alone` is the time of one repetition by itself in
/// nanoseconds; `other` is the measurement of what was busy.
pub(super) fn slowdowns(one: &Measurement, alone: f64, other: Option<&Measurement>) -> Vec<f64> {
    let work = alone * one.count as f64;
    let times = nanos(&one.times);
    // Both began at once, and the one that was busy longer had the link to itself at its end. Where
    // the time of the other is unknown, it is taken to have been busy throughout.
    let others = other.map_or_else(|| times.clone(), |other| nanos(&other.times));
    let slow = |(time, other): (f64, f64)| {
        let both = time.min(other);
        let meanwhile = work - (time - both);
        (meanwhile > 0.0).then(|| (both / meanwhile).max(1.0))
    };
    times.into_iter().zip(others).filter_map(slow).collect()
}
