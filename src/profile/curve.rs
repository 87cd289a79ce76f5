//! Fitted numbers and fitted functions of a size, with their scatter.

use super::checked_numbers::{knots, scatter, share, time};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A fitted time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    #[serde(deserialize_with = "time")]
    pub ns: f64,
    /// Relative scatter of the samples: robust standard deviation over median.
    #[serde(deserialize_with = "scatter")]
    pub scatter: f64,
    /// Where samples take one of two values, `ns` and `scatter` are of the more frequent one, and
    /// this is the other.
    pub other: Option<Other>,
}

/// The rarer of the two values of a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    #[serde(deserialize_with = "time")]
    pub ns: f64,
    /// The share of samples that had it: up to one half.
    #[serde(deserialize_with = "share")]
    pub share: f64,
}

impl Estimate {
    /// A time that does not have two values.
    pub const fn new(ns: f64, scatter: f64) -> Self {
        Self { ns, scatter, other: None }
    }

    /// The time, capped at `most` nanoseconds.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        let other = self.other.map(|other| Other { ns: other.ns.min(most), ..other });
        Self { ns: self.ns.min(most), other, ..self }
    }

    /// The time without a part of it that takes `part` nanoseconds; 0 if the part takes longer.
    #[must_use]
    pub fn without(self, part: f64) -> Self {
        let left = |ns: f64| (ns - part).max(0.0);
        let other = self.other.map(|other| Other { ns: left(other.ns), ..other });
        Self { ns: left(self.ns), other, ..self }
    }

    pub fn span(&self) -> Span {
        Span::from_nanos_f64(self.ns.max(0.0))
    }
}

/// Nanoseconds that decide nothing: a launch and the wait for its end take as long.
const NEGLIGIBLE: f64 = 10_000.0;

/// Share of the largest size: a knot up to there is far enough from the last one for a slope.
const FAR: f64 = 0.125;

/// A size outside of what was measured: on which side, and where the measured sizes end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    Below(f64),
    Above(f64),
}

impl Beyond {
    /// Says in words what is not known.
    pub(super) fn of(self, what: &str, end: impl Fn(f64) -> String) -> String {
        match self {
            Self::Below(first) => format!("{what} below {}", end(first)),
            Self::Above(last) => format!("{what} above {}", end(last)),
        }
    }
}

/// A fitted time as a function of a size: piecewise linear between knots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Pairs of size and nanoseconds, sizes increasing.
    #[serde(deserialize_with = "knots")]
    pub knots: Vec<(f64, f64)>,
    /// Relative scatter of the samples about the curve.
    #[serde(deserialize_with = "scatter")]
    pub scatter: f64,
}

impl Curve {
    /// Nanoseconds at `size`. Past the last knot the curve continues along its last stretch, if
    /// that rises.
    pub fn at(&self, size: f64) -> f64 {
        match self.last_stretch() {
            Some(stretch) if size > stretch[1].0 => crate::stats::interpolate(&stretch, size),
            _ => crate::stats::interpolate(&self.knots, size),
        }
    }

    /// The last knot and an earlier one that is far enough away, so that errors in both hardly
    /// change the slope. (A knot at 64 Mi elements was 10% too low; with the knot at 32 Mi, that
    /// made 256 Mi a third too low.)
    fn last_stretch(&self) -> Option<[(f64, f64); 2]> {
        let (&last, before) = self.knots.split_last()?;
        let far = before.iter().rfind(|knot| knot.0 <= FAR * last.0);
        Some([*far.or(before.first())?, last])
    }

    /// Nanoseconds at `size`, level before the first knot and past the last one.
    pub fn within(&self, size: f64) -> f64 {
        self.at(size.clamp(self.knots[0].0, self.largest())).max(0.0)
    }

    /// Nanoseconds at `size`, if the measured sizes allow an answer.
    ///
    /// Below its smallest size a curve is level: that is right where a fixed cost dominates, and
    /// wrong by little where the smallest size takes hardly any time. Past its largest size it
    /// continues along its last stretch, which is right where most of the time is proportional to
    /// the size. A single size says nothing about others.
    ///
    /// # Errors
    /// If the size lies outside of what was measured and neither rule applies.
    pub fn known(&self, size: f64) -> Result<f64, Beyond> {
        let first = self.knots[0];
        let last = self.knots[self.knots.len() - 1];
        // The share of the time at the end of a piece that grows with the size.
        let grows = |from: (f64, f64), to: (f64, f64), at: (f64, f64)| {
            (to.1 - from.1) / (to.0 - from.0) * at.0 / at.1
        };
        let is_level = match self.knots[..] {
            _ if first.1 <= NEGLIGIBLE => true,
            [from, to, ..] => grows(from, to, from) <= 0.5,
            _ => false,
        };
        let is_in_proportion =
            self.last_stretch().is_some_and(|[from, to]| grows(from, to, to) >= 0.5);
        if size < first.0 && !is_level {
            Err(Beyond::Below(first.0))
        } else if size > last.0 && !is_in_proportion {
            Err(Beyond::Above(last.0))
        } else {
            Ok(self.at(size))
        }
    }

    /// The largest size that was measured.
    pub fn largest(&self) -> f64 {
        self.knots[self.knots.len() - 1].0
    }

    /// Nanoseconds per unit of size where size is large: the slope of the last
    /// segment. `None` if only one size was measured.
    pub fn slope(&self) -> Option<f64> {
        match self.knots[..] {
            [.., (x0, y0), (x1, y1)] => Some((y1 - y0) / (x1 - x0)),
            _ => None,
        }
    }

    /// How far this curve lies above another, at its own knots; 0 where it lies below.
    #[must_use]
    pub fn above(&self, other: &Self) -> Self {
        let above = |&(size, ns): &(f64, f64)| (size, (ns - other.at(size)).max(0.0));
        Self { knots: self.knots.iter().map(above).collect(), scatter: self.scatter }
    }

    /// The sum of this curve and another. The other one counts as level below its first knot, and
    /// as 0 past its last one, which it reaches within `times` that knot's size.
    #[must_use]
    pub fn plus(&self, other: &Self, times: f64) -> Self {
        let [first, last] = [other.knots.first(), other.knots.last()]
            .map(|knot| knot.map_or(0.0, |&(size, _)| size));
        let sizes = |curve: &Self| curve.knots.iter().map(|knot| knot.0).collect::<Vec<_>>();
        let mut knots = sizes(self);
        let ends = knots.first().copied().zip(knots.last().copied());
        let within = |size: &f64| ends.is_some_and(|(first, last)| (first..last).contains(size));
        knots.extend(sizes(other).into_iter().chain([times * last]).filter(within));
        knots.sort_unstable_by(f64::total_cmp);
        knots.dedup();
        let more = |size: f64| if size > last { 0.0 } else { other.at(size.max(first)) };
        let time = |size: f64| self.at(size) + more(size).max(0.0);
        let knots = knots.into_iter().map(|size| (size, time(size))).collect();
        Self { knots, scatter: self.scatter }
    }

    /// The curve where it takes at least so many nanoseconds per unit of size, and elsewhere what
    /// that takes.
    #[must_use]
    pub fn no_less_than(&self, per_unit: f64) -> Self {
        let above = |&(size, ns): &(f64, f64)| ns - per_unit * size;
        let mut knots = Vec::with_capacity(self.knots.len());
        let mut last: Option<(f64, f64)> = None;
        for knot in &self.knots {
            let (here, size) = (above(knot), knot.0);
            if let Some((before, from)) = last.filter(|(before, _)| before * here < 0.0) {
                let crossing = from + (size - from) * before / (before - here);
                knots.push((crossing, per_unit * crossing));
            }
            knots.push((size, knot.1.max(per_unit * size)));
            last = Some((here, size));
        }
        knots.dedup_by(|next, before| next.0 <= before.0);
        Self { knots, scatter: self.scatter }
    }

    /// Multiplies all times.
    pub fn scale(&mut self, factor: f64) {
        self.knots.iter_mut().for_each(|knot| knot.1 *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::Curve;

    fn curve(knots: &[(f64, f64)]) -> Curve {
        Curve { knots: knots.to_vec(), scatter: 0.0 }
    }

    /// The last knot is 10% too low. Past it the curve is 10% too low as well, and not more.
    #[test]
    fn past_the_last_knot_a_curve_goes_on_as_from_far_off() {
        let noisy = curve(&[(0.0, 0.0), (64.0, 64.0), (128.0, 115.2)]);
        assert_eq!([96.0, 128.0, 512.0].map(|size| noisy.at(size).round()), [90.0, 115.0, 461.0]);
        // What was level for small sizes is not in the slope.
        let bent = curve(&[(1.0, 50.0), (16.0, 50.0), (64.0, 146.0), (128.0, 274.0)]);
        assert_eq!((bent.at(256.0), bent.known(256.0)), (530.0, Ok(530.0)));
        let falls = curve(&[(1.0, 9.0), (2.0, 20.0), (4.0, 7.0)]);
        assert_eq!(falls.at(8.0), 7.0);
        assert!(falls.known(8.0).is_err());
    }
}
