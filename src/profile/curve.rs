//! Numbers and functions of one variable that a fit found, with their scatter.

use super::checked::LONGEST;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A fitted time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawEstimate")]
pub struct Estimate {
    pub ns: f64,
    /// Relative scatter of the samples: robust standard deviation over median.
    pub scatter: f64,
    /// Where samples show two ways to go, `ns` and its scatter are of the one that
    /// is gone more often, and this is the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Other>,
}

/// The rarer of two values that a time has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    pub ns: f64,
    /// The share of samples that had it: up to one half.
    pub share: f64,
}

/// An estimate as a file has it, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEstimate {
    ns: f64,
    scatter: f64,
    other: Option<Other>,
}

impl TryFrom<RawEstimate> for Estimate {
    type Error = &'static str;

    fn try_from(RawEstimate { ns, scatter, other }: RawEstimate) -> Result<Self, Self::Error> {
        let is_time = |ns: &f64| (0.0..LONGEST).contains(ns);
        if !is_time(&ns) || !(0.0..1e6).contains(&scatter) {
            return Err(
                "a time in nanoseconds and its scatter are numbers, and not below 0 or huge",
            );
        }
        if other.is_some_and(|other| !is_time(&other.ns) || !(0.0..=1.0).contains(&other.share)) {
            return Err("the other of two times is not below 0, and its share from 0 to 1");
        }
        Ok(Self { ns, scatter, other })
    }
}

impl Estimate {
    /// A time with one way to go.
    pub const fn new(ns: f64, scatter: f64) -> Self {
        Self { ns, scatter, other: None }
    }

    /// The time, but not more than so many nanoseconds.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        let other = self.other.map(|other| Other { ns: other.ns.min(most), ..other });
        Self { ns: self.ns.min(most), other, ..self }
    }

    /// What is left of it without a part that takes so many nanoseconds: nothing
    /// if the part takes longer.
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

/// Nanoseconds that decide nothing: a launch and the wait for it take as long.
const NEGLIGIBLE: f64 = 10_000.0;

/// Of the largest size: knots up to there are far from the last.
const FAR: f64 = 0.125;

/// On which side a size lies beyond those that were measured, and the last of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    Below(f64),
    Above(f64),
}

impl Beyond {
    /// What is not known, in words.
    pub(super) fn of(self, what: &str, end: impl Fn(f64) -> String) -> String {
        match self {
            Self::Below(first) => format!("{what} below {}", end(first)),
            Self::Above(last) => format!("{what} above {}", end(last)),
        }
    }
}

/// A fitted time as a function of a size: piecewise linear between knots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawCurve")]
pub struct Curve {
    /// Pairs of size and nanoseconds, sizes increasing.
    pub knots: Vec<(f64, f64)>,
    /// Relative scatter of the samples about the curve.
    pub scatter: f64,
}

/// A curve as a file has it, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCurve {
    knots: Vec<(f64, f64)>,
    scatter: f64,
}

impl TryFrom<RawCurve> for Curve {
    type Error = &'static str;

    fn try_from(raw: RawCurve) -> Result<Self, Self::Error> {
        let are_numbers =
            |&(x, y): &(f64, f64)| (0.0..1e18).contains(&x) && (0.0..LONGEST).contains(&y);
        if raw.knots.is_empty() || !raw.knots.iter().all(are_numbers) {
            return Err("a curve needs a knot, and numbers not below 0 or huge in all of them");
        }
        if !(0.0..1e6).contains(&raw.scatter) {
            return Err("the scatter of a curve is a number, and not below 0");
        }
        if !raw.knots.is_sorted_by(|one, next| one.0 < next.0) {
            return Err("the knots of a curve must go by increasing size");
        }
        Ok(Self { knots: raw.knots, scatter: raw.scatter })
    }
}

impl Curve {
    /// Nanoseconds at `size`; past the last knot along its last stretch, if that rises.
    pub fn at(&self, size: f64) -> f64 {
        match self.last_stretch() {
            Some(stretch) if size > stretch[1].0 => crate::stats::interpolate(&stretch, size),
            _ => crate::stats::interpolate(&self.knots, size),
        }
    }

    /// The last knot, and the nearest before it that is far enough off for what both are wrong by
    /// to matter little to the slope. (64 Mi elements that came out 10% short beside 32 Mi made
    /// 256 Mi a third too short.)
    fn last_stretch(&self) -> Option<[(f64, f64); 2]> {
        let (&last, before) = self.knots.split_last()?;
        let far = before.iter().rfind(|knot| knot.0 <= FAR * last.0);
        Some([*far.or(before.first())?, last])
    }

    /// The same between the first knot and the last, and beyond them what it is there.
    pub fn within(&self, size: f64) -> f64 {
        self.at(size.clamp(self.knots[0].0, self.largest())).max(0.0)
    }

    /// Nanoseconds at `size`, if what was measured says so.
    ///
    /// Below its smallest size a curve is level. That is so where a fixed cost
    /// makes up most of the time there, and off by little where the smallest takes
    /// next to no time. Past its largest size it goes on along its last stretch: that is so where
    /// most of the time there is in proportion to the size. A single size says
    /// nothing of others.
    ///
    /// # Errors
    /// If the size lies beyond what was measured and none of this holds.
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

    /// By how much it lies above another at its knots: by nothing where it lies below.
    #[must_use]
    pub fn above(&self, other: &Self) -> Self {
        let above = |&(size, ns): &(f64, f64)| (size, (ns - other.at(size)).max(0.0));
        Self { knots: self.knots.iter().map(above).collect(), scatter: self.scatter }
    }

    /// The curve with another on top of it, which is level below its first knot and gone at so
    /// many times its last one at the latest.
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

    /// The curve with all times multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let knots = self.knots.iter().map(|&(x, y)| (x, y * factor)).collect();
        Self { knots, scatter: self.scatter }
    }
}

#[cfg(test)]
mod tests {
    use super::Curve;

    fn curve(knots: &[(f64, f64)]) -> Curve {
        Curve { knots: knots.to_vec(), scatter: 0.0 }
    }

    /// The last knot is a tenth too low: further on, the curve is as much too low, and no more.
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
