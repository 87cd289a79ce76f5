//! Finds measurements, and computes the time of one repetition from them.

use super::filters::Filter;
use super::points::{DISTURBED, Point, Points, trusted, unhindered};
use crate::profile::{Curve, Estimate, Other};
use crate::samples::{Doer, MEMORY_FOOTPRINT, Measurement, Quantity, Samples, Stop};
use crate::stats::{biweight_mean, median, modes, relative_spread, segment, unraised_mean};
use crate::units::{Bytes, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

pub(super) struct Estimator<'s> {
    /// In the order in which they were taken.
    measurements: Vec<&'s Measurement>,
    /// The measurements, those of each quantity together: a quantity has up to a hundred.
    by_quantity: Vec<Vec<&'s Measurement>>,
    /// Where each quantity is among them.
    places: BTreeMap<&'s Quantity, usize>,
    /// Filters that are switched off.
    off: Vec<Filter>,
}

impl<'s> Estimator<'s> {
    pub fn new(samples: &'s Samples) -> Self {
        Self::without(samples, &[])
    }

    /// An estimator that does not apply some filters.
    pub fn without(samples: &'s Samples, off: &[Filter]) -> Self {
        Self::of(samples.measurements.iter().collect(), off)
    }

    /// One estimator for each pass.
    pub fn of_passes(samples: &'s Samples) -> [Self; 2] {
        passes(samples).map(|measurements| Self::of(measurements, &[]))
    }

    fn of(measurements: Vec<&'s Measurement>, off: &[Filter]) -> Self {
        let (by_quantity, places) = by_quantity(&measurements);
        Self { measurements, by_quantity, places, off: off.to_vec() }
    }

    /// Whether a filter is in use.
    pub fn applies(&self, filter: Filter) -> bool {
        !self.off.contains(&filter)
    }

    /// The time of one repetition. If it has two modes, the estimate has that of the more frequent
    /// one, with the other beside it.
    pub fn estimate(&self, wanted: impl Fn(&Quantity) -> bool) -> Option<Estimate> {
        self.estimate_from(&self.found(wanted))
    }

    fn estimate_from(&self, found: &[&Measurement]) -> Option<Estimate> {
        let pooled = self.pooled(found)?;
        let modes = modes(&pooled.many).filter(|_| self.applies(Filter::RareTimes));
        let Some([usual, rare]) = modes else { return pooled.around_middle() };
        let other = Other { ns: pooled.of_one(rare.center), share: rare.share };
        let scatter = if usual.center > 0.0 { usual.spread / usual.center } else { 0.0 };
        Some(Estimate { ns: pooled.of_one(usual.center), scatter, other: Some(other) })
    }

    /// Nanoseconds of one repetition, one for each sample. Empty if there are no samples.
    pub fn times_of(&self, wanted: &Quantity) -> Vec<f64> {
        let pooled = self.pooled(self.measurements_of(wanted));
        pooled.map_or_else(Vec::new, |p| p.many.iter().map(|&time| p.of_one(time)).collect())
    }

    /// The middle of a quantity's times, in nanoseconds per repetition; `None` if there are none.
    /// Which middle that is depends on the quantity: see [`Middle`].
    pub fn middle_of(&self, wanted: &Quantity) -> Option<f64> {
        let pooled = self.pooled(self.measurements_of(wanted))?;
        Some(pooled.of_one(pooled.middle()?))
    }

    /// The measurements of one quantity, in the order in which they were taken.
    pub fn measurements_of(&self, wanted: &Quantity) -> &[&'s Measurement] {
        self.places.get(wanted).map_or(&[], |&place| &self.by_quantity[place])
    }

    fn found(&self, wanted: impl Fn(&Quantity) -> bool) -> Vec<&'s Measurement> {
        let quantities = self.by_quantity.iter().filter(|visits| wanted(&visits[0].quantity));
        quantities.flatten().copied().collect()
    }

    /// Everything of a kind that was measured, in order.
    pub fn kinds<T: Ord>(&self, of: impl Fn(&Quantity) -> Option<T>) -> BTreeSet<T> {
        self.by_quantity.iter().filter_map(|visits| of(&visits[0].quantity)).collect()
    }

    /// What was measured first of a kind.
    pub fn first<T>(&self, of: impl Fn(&Quantity) -> Option<T>) -> Option<T> {
        self.measurements().find_map(|one| of(&one.quantity))
    }

    /// The time of one repetition of one quantity, as [`Estimator::estimate`] gives it.
    pub fn estimate_of(&self, wanted: &Quantity) -> Option<Estimate> {
        self.estimate_from(self.measurements_of(wanted))
    }

    /// The mean over visits of the median time of one repetition, in nanoseconds. Each visit counts
    /// alike: visits last equally long, so pooled samples would favour the fast visits. Only for
    /// quantities with a single count.
    pub fn across_visits(&self, wanted: impl Fn(&Quantity) -> bool) -> Option<f64> {
        let visits = self.measurements().filter(|m| wanted(&m.quantity));
        let of_one = |m: &Measurement| Some(median(&nanos(&m.times))? / m.count.max(1) as f64);
        let times: Vec<f64> = visits.filter_map(of_one).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    }

    /// The time of each size of a kind of measurement, and the median of their scatters. `key`
    /// gives the size of a measurement that belongs to the kind. `None` if there are no such
    /// measurements.
    pub fn points(&self, key: impl Fn(&Quantity) -> Option<u64>) -> Option<(Points, f64)> {
        let mut sizes = BTreeMap::<u64, Vec<&Measurement>>::new();
        for visits in &self.by_quantity {
            if let Some(size) = key(&visits[0].quantity) {
                sizes.entry(size).or_default().extend(visits);
            }
        }
        let mut points = Vec::new();
        let mut scatters = Vec::new();
        let mut is_of_rate = false;
        for (size, visits) in sizes {
            let Some(pooled) = self.pooled(&visits) else { continue };
            is_of_rate |= pooled.is_of_rate;
            if let Some(estimate) = pooled.around_middle() {
                points.push(Point { size, ns: estimate.ns, samples: pooled.many.len() });
                scatters.push(estimate.scatter);
            }
        }
        let mut points = match self.applies(Filter::Contradictions) {
            true => trusted(&points),
            false => points.iter().map(|point| (point.size as f64, point.ns)).collect(),
        };
        if is_of_rate && !self.is_table() && self.applies(Filter::Hindrances) {
            points = unhindered(points);
        }
        Some((points, median(&scatters)?))
    }

    /// A curve through [`Estimator::points`].
    pub fn curve(&self, key: impl Fn(&Quantity) -> Option<u64>) -> Option<Curve> {
        let (points, scatter) = self.points(&key)?;
        Some(Curve { knots: segment(&points, TOLERANCE), scatter })
    }

    /// The largest footprint of a kind of measurement that used other memory in between, if it is
    /// so large that nothing stays in the caches; otherwise 0, which matches no measurement. `of`
    /// gives a measurement's footprint and how much of it belongs to the operation itself.
    pub fn most_around(&self, of: impl Fn(&Quantity) -> Option<(Bytes, Bytes)>) -> Bytes {
        let all = self.measurements().filter_map(|m| of(&m.quantity));
        let with_others = all.filter(|(footprint, own)| footprint > own).map(|pair| pair.0);
        with_others.max().filter(|&most| most >= MEMORY_FOOTPRINT).unwrap_or(Bytes::ZERO)
    }

    /// Pools measurements of equal count that were taken at different times. For work that the
    /// device does by itself, visits that are clearly slower than the fastest one are discarded:
    /// others on the host can only slow the device down, and may do so throughout a visit (Chen and
    /// Revels, "Robust benchmarking in noisy environments", 2016).
    fn pooled(&self, found: &[&Measurement]) -> Option<Pooled> {
        let middle = Middle::of(&found.first()?.quantity);
        let is_of_rate = middle == Middle::Link;
        let few = found.iter().map(|m| m.count).min()?;
        let most = found.iter().map(|m| m.count).max()?;
        let [mut short, mut long] = [few, most].map(|count| visits_of(found, count));
        // For work that the host has a part in, every visit counts.
        let is_exact = middle != Middle::Host;
        if is_exact && self.applies(Filter::SlowVisits) {
            [short, long] = undisturbed(short, long);
        }
        let middle = if self.applies(Filter::Outliers) { middle } else { Middle::All };
        let (short, long) = (short.concat(), long.concat());
        let start = if most > few { Some((few, middle.among(&short)?)) } else { None };
        let pooled = Pooled { many: long, count: most.max(1), start, middle, is_of_rate };
        if is_exact && self.applies(Filter::HeldUp) && pooled.is_held_up() {
            return Some(Pooled { many: short, count: few.max(1), start: None, ..pooled });
        }
        Some(pooled)
    }

    /// Whether the samples are a table from elsewhere. Its author knows what else went on
    /// meanwhile.
    pub fn is_table(&self) -> bool {
        self.measurements.iter().any(|m| m.stop == Stop::Elsewhere)
    }

    pub fn measurements(&self) -> impl Iterator<Item = &'s Measurement> {
        self.measurements.iter().copied()
    }
}

/// A closure that takes something out of the quantities of a kind, and nothing out of others.
macro_rules! pick {
    ($kind:pat $(if $is_meant:expr)? => $found:expr) => {
        |quantity: &Quantity| match *quantity {
            $kind $(if $is_meant)? => Some($found),
            _ => None,
        }
    };
}

pub(super) use pick;

/// The size of a quantity that is the `wanted` one of its size, for a curve over such quantities.
pub(super) fn sized<S: From<u64>>(
    wanted: impl Fn(S) -> Quantity,
) -> impl Fn(&Quantity) -> Option<u64> {
    let wanted = move |size: u64| wanted(size.into());
    let kind = discriminant(&wanted(1));
    move |quantity| {
        let is_of_kind = discriminant(quantity) == kind;
        let size = is_of_kind.then(|| quantity.definition().first_amount()).flatten()?;
        (wanted(size) == *quantity).then_some(size)
    }
}

/// The earlier and the later half of each quantity's visits, which are the two passes where there
/// were two. A quantity that was visited once is in neither.
fn passes(samples: &Samples) -> [Vec<&Measurement>; 2] {
    // A visit may take several counts; a new visit begins with the count that was taken first.
    let mut visits: BTreeMap<&Quantity, (u64, usize)> = BTreeMap::new();
    let mut numbered = Vec::new();
    for one in &samples.measurements {
        let (first, visits) = visits.entry(&one.quantity).or_insert((one.count, 0));
        *visits += usize::from(one.count == *first);
        numbered.push((one, *visits));
    }
    let half = |later: bool| {
        let is_in = |(one, visit): &(&Measurement, usize)| {
            let (_, visits) = visits[&one.quantity];
            visits > 1 && (*visit > visits / 2) == later
        };
        numbered.iter().copied().filter(is_in).map(|(one, _)| one).collect()
    };
    [half(false), half(true)]
}

/// The measurements of each quantity. Quantities come in the order of their first measurements.
fn by_quantity<'s>(
    measurements: &[&'s Measurement],
) -> (Vec<Vec<&'s Measurement>>, BTreeMap<&'s Quantity, usize>) {
    let (mut found, mut places) = (Vec::<Vec<_>>::new(), BTreeMap::new());
    for &one in measurements {
        let place = *places.entry(&one.quantity).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(one);
    }
    (found, places)
}

/// The times of the measurements with this count, visit by visit.
fn visits_of(found: &[&Measurement], count: u64) -> Vec<Vec<f64>> {
    let of_count = found.iter().filter(|m| m.count == count);
    of_count.map(|m| nanos(&m.times)).collect()
}

/// The visits that nobody disturbed, with few repetitions and with many. Each visit takes both, and
/// they belong together: if the few came from some visits and the many from others, their
/// difference would be the time of nothing. (With a neighbour on the link, copies appeared to run
/// at 58 GB/s when none had run faster than 55.) If no visit was quick at both counts, the quick
/// ones at each count are nearer to the truth than a pair of slow ones.
fn undisturbed(short: Vec<Vec<f64>>, long: Vec<Vec<f64>>) -> [Vec<Vec<f64>>; 2] {
    let quick = |visits: &[Vec<f64>]| -> Vec<bool> {
        let medians = || visits.iter().map(|times| median(times).unwrap_or(f64::INFINITY));
        let fastest = medians().fold(f64::INFINITY, f64::min);
        medians().map(|median| median <= DISTURBED * fastest).collect()
    };
    let only = |visits: Vec<Vec<f64>>, counts: &[bool]| {
        let kept = visits.into_iter().zip(counts).filter(|&(_, counts)| *counts);
        kept.map(|(times, _)| times).collect()
    };
    let (short_quick, long_quick) = (quick(&short), quick(&long));
    let both: Vec<bool> =
        short_quick.iter().zip(&long_quick).map(|(&short, &long)| short && long).collect();
    // An interrupted calibration may lack the last measurement of a pair, and a table any of them.
    if short.len() == long.len() && both.contains(&true) {
        return [only(short, &both), only(long, &both)];
    }
    [only(short, &short_quick), only(long, &long_quick)]
}

/// The pooled times of a quantity.
struct Pooled {
    /// The time of each sample of `count` repetitions, in nanoseconds.
    many: Vec<f64>,
    count: u64,
    /// A smaller number of repetitions and their usual time. Subtracting it removes the cost of
    /// starting and ending a sample.
    start: Option<(u64, f64)>,
    middle: Middle,
    /// Whether the quantity's time is next to all due to the link's rate.
    is_of_rate: bool,
}

impl Pooled {
    /// Nanoseconds of one repetition if `count` of them take `many`.
    fn of_one(&self, many: f64) -> f64 {
        let ns = match self.start {
            Some((few, start)) => (many - start) / (self.count - few) as f64,
            None => many / self.count as f64,
        };
        ns.max(0.0)
    }

    /// Whether repetitions of the long samples take much longer each than those of the short ones.
    /// The cost of starting and ending a sample is not negative, so something must have got in the
    /// way of the long ones.
    fn is_held_up(&self) -> bool {
        let (Some((few, start)), Some(many)) = (self.start, self.middle()) else {
            return false;
        };
        self.of_one(many) > HELD_UP * start / few as f64
    }

    fn middle(&self) -> Option<f64> {
        self.middle.among(&self.many)
    }

    fn around_middle(&self) -> Option<Estimate> {
        let scatter = relative_spread(&self.many).unwrap_or(0.0);
        Some(Estimate::new(self.of_one(self.middle()?), scatter))
    }
}

/// Which average of times stands for a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Middle {
    /// Times of the host scatter to one side, and a plan makes many calls. Their sum depends on the
    /// mean of all undisturbed calls, not on the median.
    Host,
    /// Times of the device differ from stream to stream, and a plan may use any stream.
    Device,
    /// Times of large copies grow by what others take of the link meanwhile, even within a visit,
    /// and never fall below what the link allows. The scatter still covers all times, because plans
    /// meet others, too.
    Link,
    /// No time is an outlier.
    All,
}

impl Middle {
    fn of(quantity: &Quantity) -> Self {
        let definition = quantity.definition();
        match definition.doer {
            Doer::Device if definition.is_of_rate => Self::Link,
            Doer::Device => Self::Device,
            Doer::OneThread | Doer::Several => Self::Host,
        }
    }

    /// The average of `times`; `None` if there are none.
    fn among(self, times: &[f64]) -> Option<f64> {
        match self {
            Self::Host => biweight_mean(times, 0.0),
            Self::Device => biweight_mean(times, FAR),
            Self::Link => unraised_mean(times, NEAR),
            Self::All => {
                (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
            }
        }
    }
}

/// The largest relative distance between a curve and its points.
const TOLERANCE: f64 = 0.005;

/// Undisturbed large copies differ by less than this share.
const NEAR: f64 = 0.005;

/// The times of different streams of a device differ by far less than this share.
const FAR: f64 = 0.2;

/// Repetitions in long samples may take this many times as long as in short ones. The most seen
/// without a disturbance was 1.14. On one host, though, every copy of 16 MiB behind the eighth
/// stood still for a millisecond.
const HELD_UP: f64 = 1.25;

pub(super) fn nanos(times: &[Span]) -> Vec<f64> {
    times.iter().map(|span| span.nanos_f64()).collect()
}
