//! How much those that use the link at once slow each other: copies of both directions, kernels,
//! other loads.

use super::copies::{copy_time, curve_of, rotated, switch};
use super::estimator::{Estimator, nanos, pick};
use crate::kernels::Variant;
use crate::machine::Direction;
use crate::profile::{
    Contention, CopyModel, Curve, Interference, KernelModel, LinkModel, Refetch, TwinModel, Warmth,
};
use crate::samples::{
    Load, Measurement, Quantity, REFETCHED, ROTATED, STREAMING_KERNEL, STREAMING_TWIN, Side,
    WRITTEN_KEPT, WRITTEN_THROUGH, waiting_kernels,
};
use crate::stats::{Line, median, quantile, relative_spread, theil_sen};
use crate::units::{Bandwidth, Bytes};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub(super) fn link(estimator: &Estimator<'_>, copies: &[CopyModel]) -> LinkModel {
    let alone = Direction::BOTH.map(|direction| curve_of(copies, direction));
    let [down_rate, up_rate] = alone.map(|time| {
        let slope = time?.slope().filter(|&slope| slope > 0.0)?;
        Some(Bandwidth::from_bytes_per_second(1e9 / slope))
    });
    let ([down_shared, up_shared], scatter) = contention(estimator, alone, WRITTEN_THROUGH);
    let ([down_shared_kept, up_shared_kept], _) = contention(estimator, alone, WRITTEN_KEPT);
    let [down_beside_kernels, up_beside_kernels] =
        Direction::BOTH.map(|direction| beside_kernels(estimator, direction));
    let mut link = LinkModel {
        down_bytes_per_second: down_rate,
        up_bytes_per_second: up_rate,
        down_shared,
        up_shared,
        down_shared_kept,
        up_shared_kept,
        down_beside_kernels,
        up_beside_kernels,
        scatter,
        refetches: refetches(estimator, alone[0]),
        ..LinkModel::default()
    };
    let [down_size, up_size] =
        Direction::BOTH.map(|direction| rotated(estimator, direction, false).unwrap_or(ROTATED));
    let (of_down, of_up) = (Direction::HostToDevice, Direction::DeviceToHost);
    let down = time_beside_kernels(estimator, copies, (of_down, down_size));
    let up = time_beside_kernels(estimator, copies, (of_up, up_size));
    // While the engine rotates, kernels wait in every stream, including the one whose copy is under
    // way.
    let beside_waiting = |streams, held: RangeInclusive<u64>| {
        let times = held.map(|kernels| link.refetching(streams, kernels as f64));
        let times: Vec<f64> = times.collect();
        Some(down? * times.iter().sum::<f64>() / times.len() as f64)
    };
    let down_switch = switch(estimator, of_down, (down_size, false), beside_waiting);
    link.down_switch = down_switch;
    link.up_switch = switch(estimator, of_up, (up_size, false), |_, _| up);
    link
}

/// How much longer copies take while kernels wait in several streams than without any: than where
/// none waited in the same visits, or else than by the curve of copies `alone`. The curves carry no
/// scatter: a range draws the time of each copy, which has this scatter in it already.
fn refetches(estimator: &Estimator<'_>, alone: Option<&Curve>) -> Vec<Refetch> {
    // A calibration that lacks a case was cut off, and knows nothing of it.
    let is_known = |(streams, kernels)| {
        let case = Quantity::Refetched { bytes: REFETCHED, streams, kernels };
        estimator.estimate_of(&case).is_some()
    };
    if !estimator.is_table() && !waiting_kernels().all(is_known) {
        return Vec::new();
    }
    let mut found = BTreeMap::<usize, Vec<(f64, f64)>>::new();
    let cases = estimator.kinds(pick!(Quantity::Refetched { bytes, streams, kernels }
        => (streams, kernels, bytes)));
    for (streams, kernels, bytes) in cases.into_iter().filter(|&(streams, ..)| streams > 0) {
        let time = |streams, kernels| {
            let case = Quantity::Refetched { bytes, streams, kernels };
            estimator.estimate_of(&case).map(|time| time.ns)
        };
        let without = time(0, 0).or_else(|| alone?.known(bytes.as_f64()).ok());
        let Some((with, without)) = time(streams, kernels).zip(without) else { continue };
        // Waiting kernels never make a copy quicker, so anything below 1 is noise. The half a
        // percent of noise in the other values is kept: leaving out all that is not clear would
        // lose effects of 1 to 2%.
        let knots = found.entry(streams).or_insert_with(|| vec![(0.0, 1.0)]);
        knots.push((kernels as f64, (with / without.max(1.0)).max(1.0)));
        // A table may have several sizes at one number of kernels: the largest counts.
        knots.dedup_by(|next, before| {
            let is_same = next.0 == before.0;
            before.1 = if is_same { next.1 } else { before.1 };
            is_same
        });
    }
    let refetch = |(streams, knots)| Refetch { streams, slowdown: Curve { knots, scatter: 0.0 } };
    found.into_iter().map(refetch).collect()
}

/// Nanoseconds of a copy of pinned memory while kernels run. Where a copy engine serves several
/// streams or branches of a graph in turn, kernels of the others run beside each copy.
pub(super) fn time_beside_kernels(
    estimator: &Estimator<'_>,
    copies: &[CopyModel],
    (direction, bytes): (Direction, Bytes),
) -> Option<f64> {
    let longer = beside_kernels(estimator, direction);
    let longer = longer.map_or(0.0, |curve| curve.within(bytes.as_f64()));
    Some(copy_time(copies, direction, bytes)? + longer)
}

/// For each direction, what a copy takes longer while the other direction is busy and the copies of
/// each cycle through `around` bytes of host memory, where copies of at least two sizes were
/// measured. With it, the relative scatter of what large copies take longer. `alone` holds the
/// curves of copies in each direction while the other is idle.
pub(super) fn contention(
    estimator: &Estimator<'_>,
    alone: [Option<&Curve>; 2],
    around: Bytes,
) -> ([Option<Contention>; 2], f64) {
    let (mut found, mut scatters) = ([None, None], Vec::new());
    for (side, wanted) in Direction::BOTH.into_iter().enumerate() {
        let mut sizes = BySize::new();
        for one in estimator.measurements() {
            let Quantity::Shared { direction, bytes, footprint } = one.quantity else { continue };
            let time = alone[side].and_then(|curve| curve.known(bytes.as_f64()).ok());
            let is_wanted = (direction, footprint) == (wanted, around);
            let Some(time) = time.filter(|_| is_wanted) else { continue };
            let other = Direction::BOTH[1 - side];
            let other = Quantity::Shared { direction: other, bytes, footprint };
            let slow = slowdowns(one, time, at_once(estimator, one, &other));
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
pub(super) fn beside_kernels(estimator: &Estimator<'_>, wanted: Direction) -> Option<Curve> {
    let mut knots = BTreeMap::<Bytes, Vec<f64>>::new();
    for beside in estimator.measurements() {
        let Quantity::CopyBesideKernels { direction, bytes, kernels: true } = beside.quantity
        else {
            continue;
        };
        let without = Quantity::CopyBesideKernels { direction, bytes, kernels: false };
        let is_wanted = direction == wanted;
        let Some(without) = is_wanted.then(|| at_once(estimator, beside, &without)).flatten()
        else {
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
    estimator: &'l Estimator<'_>,
    one: &Measurement,
    other: &Quantity,
) -> Option<&'l Measurement> {
    let visits = estimator.measurements_of(&one.quantity);
    let visit = visits.iter().position(|visit| std::ptr::eq(*visit, one))?;
    estimator.measurements_of(other).get(visit).copied()
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
    // A line through larger copies says nothing of what a copy pays whatever its size, since they
    // meet traffic of others: its intercept was 121 us with sizes from 4 MiB on, and 808 us with
    // sizes from 32 MiB on. Smaller copies limit what that can be. Without them it is none of what
    // large copies take longer, and small ones are not known.
    let (straight, most) = match (short > 1, small.last()) {
        (true, _) => (line(&large[..short])?, least),
        (false, Some(&last)) => (line(&[last, large[0]])?, last.1),
        (false, None) => (line(large)?, 0.0),
    };
    let per_copy_ns = straight.intercept.clamp(0.0, most.max(0.0));
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

/// How much copies and loads slow each other down, where the time of each alone is known. A table
/// may have copies beside kernels of any size; without kernels beside copies, these count as
/// undisturbed.
pub(super) fn interference(
    estimator: &Estimator<'_>,
    copies: &[CopyModel],
    kernels: &[KernelModel],
    twins: &[TwinModel],
) -> Vec<Interference> {
    let kernel_alone = |wanted: Variant, elements: u64| {
        let model = kernels.iter().find(|model| model.variant == wanted)?;
        model.time.known(elements as f64).ok()
    };
    let load_alone = |load| match load {
        Load::Kernel => kernel_alone(STREAMING_KERNEL.0, STREAMING_KERNEL.1),
        Load::Cpu => {
            let (variant, elements) = STREAMING_TWIN;
            let fits =
                |model: &&TwinModel| (model.variant, model.found) == (variant, Warmth::Memory);
            twins.iter().find(fits)?.time.known(elements as f64).ok()
        }
    };
    let slow = |load: Load, way: Direction, side: Side| -> Vec<f64> {
        // The time by itself, and what goes on beside it.
        let alone = |quantity: &Quantity| match *quantity {
            Quantity::Beside { direction, bytes, load: beside, of } => {
                let (time, other) = match of {
                    Side::Copy => (copy_time(copies, way, bytes), Side::Load),
                    Side::Load => (load_alone(load), Side::Copy),
                };
                let is_wanted = (direction, beside, of) == (way, load, side);
                let other = Quantity::Beside { direction, bytes, load, of: other };
                Some((time.filter(|_| is_wanted)?, Some(other)))
            }
            Quantity::KernelBeside { direction, variant, elements } => {
                let is_wanted = (direction, load, side) == (way, Load::Kernel, Side::Load);
                Some((kernel_alone(variant, elements).filter(|_| is_wanted)?, None))
            }
            _ => None,
        };
        let of_one = |one: &Measurement| {
            let (alone, other) = alone(&one.quantity)?;
            let other = other.and_then(|other| at_once(estimator, one, &other));
            Some(slowdowns(one, alone, other))
        };
        estimator.measurements().filter_map(of_one).flatten().collect()
    };
    let model = |(load, direction)| {
        let copies = slow(load, direction, Side::Copy);
        Some(Interference {
            load,
            direction,
            copy_slowdown: median(&copies)?,
            load_slowdown: median(&slow(load, direction, Side::Load)).unwrap_or(1.0),
            scatter: relative_spread(&copies).unwrap_or(0.0),
        })
    };
    let pairs = Load::ALL.into_iter().flat_map(|load| Direction::BOTH.map(|way| (load, way)));
    pairs.filter_map(model).collect()
}
