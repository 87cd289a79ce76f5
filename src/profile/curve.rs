//! Numbers and functions of one variable that a fit found, with their scatter.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A fitted time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawEstimate")]
pub struct Estimate {
    pub ns: f64,
    /// Relative scatter of the samples: robust standard deviation over median.
    pub scatter: f64,
}

/// An estimate as a file has it, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEstimate {
    ns: f64,
    scatter: f64,
}

impl TryFrom<RawEstimate> for Estimate {
    type Error = &'static str;

    fn try_from(RawEstimate { ns, scatter }: RawEstimate) -> Result<Self, Self::Error> {
        if (0.0..1e18).contains(&ns) && (0.0..1e6).contains(&scatter) {
            Ok(Self { ns, scatter })
        } else {
            Err("a time in nanoseconds and its scatter are numbers, and not below 0")
        }
    }
}

impl Estimate {
    pub fn span(&self) -> Span {
        Span::from_nanos_f64(self.ns.max(0.0))
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
        let finite = |&(x, y): &(f64, f64)| x.is_finite() && y.abs() < 1e18;
        if raw.knots.is_empty() || !raw.knots.iter().all(finite) {
            return Err("a curve needs at least one knot, and numbers in all of them");
        }
        if !raw.knots.is_sorted_by(|one, next| one.0 < next.0) {
            return Err("the knots of a curve must go by increasing size");
        }
        Ok(Self { knots: raw.knots, scatter: raw.scatter })
    }
}

impl Curve {
    /// Nanoseconds at `size`; past the last knot along the last segment.
    pub fn at(&self, size: f64) -> f64 {
        crate::stats::interpolate(&self.knots, size)
    }

    pub fn span(&self, size: f64) -> Span {
        Span::from_nanos_f64(self.at(size).max(0.0))
    }

    /// Nanoseconds per unit of size where size is large: the slope of the last segment.
    pub fn slope(&self) -> f64 {
        match self.knots[..] {
            [.., (x0, y0), (x1, y1)] => (y1 - y0) / (x1 - x0),
            _ => 0.0,
        }
    }

    /// The curve with all times multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let knots = self.knots.iter().map(|&(x, y)| (x, y * factor)).collect();
        Self { knots, scatter: self.scatter }
    }
}
