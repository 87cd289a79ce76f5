//! Finding measurements, and the time of one repetition in them.

use crate::profile::{Curve, Estimate};
use crate::samples::{Measurement, Quantity, Samples};
use crate::stats::{median, relative_spread, segment};
use crate::units::Span;

pub(super) struct Lookup<'s> {
    samples: &'s Samples,
}

impl<'s> Lookup<'s> {
    pub fn new(samples: &'s Samples) -> Self {
        Self { samples }
    }

    /// The time of one repetition: the slope over counts where there are two,
    /// so that what starting and ending cost drops out. Measurements of the same
    /// count, taken at different times, are pooled.
    pub fn estimate(&self, wanted: impl Fn(&Quantity) -> bool) -> Option<Estimate> {
        let found: Vec<&Measurement> =
            self.samples.measurements.iter().filter(|m| wanted(&m.quantity)).collect();
        let pooled = |count: u64| -> Vec<f64> {
            let same = found.iter().filter(|m| m.count == count);
            same.flat_map(|m| nanos(&m.times)).collect()
        };
        let few = found.iter().map(|m| m.count).min()?;
        let many = found.iter().map(|m| m.count).max()?;
        let (low, high) = (median(&pooled(few))?, median(&pooled(many))?);
        let scatter = relative_spread(&pooled(many)).unwrap_or(0.0);
        let ns =
            if many > few { (high - low) / (many - few) as f64 } else { high / many.max(1) as f64 };
        Some(Estimate { ns: ns.max(0.0), scatter })
    }

    /// As [`Lookup::estimate`], of one quantity.
    pub fn estimate_of(&self, wanted: &Quantity) -> Option<Estimate> {
        self.estimate(|quantity| quantity == wanted)
    }

    /// All measurements of a kind, those that `key` gives a size, by size; and
    /// their median scatter. `None` if there are none.
    pub fn points(&self, key: impl Fn(&Quantity) -> Option<u64>) -> Option<(Points, f64)> {
        let mut sizes: Vec<u64> =
            self.samples.measurements.iter().filter_map(|m| key(&m.quantity)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut points = Vec::new();
        let mut scatters = Vec::new();
        for size in sizes {
            if let Some(estimate) = self.estimate(|quantity| key(quantity) == Some(size)) {
                points.push((size as f64, estimate.ns));
                scatters.push(estimate.scatter);
            }
        }
        Some((points, median(&scatters)?))
    }

    /// A curve through [`Lookup::points`].
    pub fn curve(&self, key: impl Fn(&Quantity) -> Option<u64>) -> Option<Curve> {
        let (points, scatter) = self.points(key)?;
        Some(Curve { knots: segment(&points, TOLERANCE), scatter })
    }

    pub fn measurements(&self) -> impl Iterator<Item = &'s Measurement> {
        self.samples.measurements.iter()
    }
}

/// Pairs of size and nanoseconds, sizes increasing.
type Points = Vec<(f64, f64)>;

/// A curve may leave out points that it meets within this share of their value.
const TOLERANCE: f64 = 0.005;

pub(super) fn nanos(times: &[Span]) -> Vec<f64> {
    times.iter().map(|span| span.nanos_f64()).collect()
}
