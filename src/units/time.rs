//! Points in time and lengths of time, as two types that cannot be mixed up.

use super::{ParseError, number_and_unit};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// A length of time in whole nanoseconds, never negative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct Span(u64);

impl Span {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Rounds to the nearest nanosecond.
    ///
    /// # Panics
    /// If `seconds` is negative, not finite, or longer than about 292 years.
    pub fn from_seconds_f64(seconds: f64) -> Self {
        Self::from_nanos_f64(seconds * 1e9)
    }

    /// Rounds to the nearest nanosecond.
    ///
    /// # Panics
    /// If `nanos` is negative, not finite, or 9.2e18 or more.
    pub fn from_nanos_f64(nanos: f64) -> Self {
        assert!((0.0..9.2e18).contains(&nanos), "a span of {nanos} ns");
        // This runs for every simulated event. Adding a half and truncating rounds without a call
        // into the mathematics library, and processors convert signed integers in one step.
        Self((nanos + 0.5) as i64 as u64)
    }

    pub const fn nanos(self) -> u64 {
        self.0
    }

    pub fn nanos_f64(self) -> f64 {
        // A signed integer converts in one step, and no plan lasts 292 years.
        self.0 as i64 as f64
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The span to the nanosecond, in the largest unit of which it is a whole number: `1500 us`.
    pub fn exactly(self) -> String {
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let is_whole = |size: u64| self.0 > 0 && self.0.is_multiple_of(size);
        let (unit, size) = units.into_iter().find(|&(_, size)| is_whole(size)).unwrap_or(("ns", 1));
        format!("{} {unit}", self.0 / size)
    }

    /// The difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<std::time::Duration> for Span {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Span {
    type Err = ParseError;

    /// Reads `"3.5 ms"`: a number with one of the units ns, us, ms and s.
    ///
    /// # Errors
    /// If the text is no number with such a unit, or more than a day.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::nanos_in(text).map(Self::from_nanos_f64)
    }
}

impl Span {
    /// Nanoseconds of a day: the longest time that a scenario states, or a call is predicted to
    /// take. Sums of as many calls as a program can have stay within what a span holds.
    pub const DAY: f64 = 86_400e9;

    /// The nanoseconds in a text such as `"3.5 ms"`, or a part of one in `"0.2 ns"`.
    ///
    /// # Errors
    /// If the text is no number with one of the units ns, us, ms and s, or more than a day.
    pub fn nanos_in(text: &str) -> Result<f64, ParseError> {
        let expected = "a time such as \"3.5 ms\" or \"20 us\", of a day at most";
        let error = || ParseError { text: text.to_owned(), expected };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let nanos = match unit {
            "ns" => number,
            "us" | "µs" => number * 1e3,
            "ms" => number * 1e6,
            "s" => number * 1e9,
            _ => return Err(error()),
        };
        if nanos <= Self::DAY { Ok(nanos) } else { Err(error()) }
    }
}

impl fmt::Display for Span {
    /// Prints three significant digits in the unit that fits: `4.52 us`, `13.8 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1e3, "us"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = self.0 as f64 / scale;
        let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// A point in time, counted in whole nanoseconds from the start of a timeline.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    pub const START: Self = Self(0);
    /// Later than everything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time since the start of the timeline.
    pub const fn since_start(self) -> Span {
        Span(self.0)
    }

    /// The time since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time runs forwards"))
    }

    /// The point in time `span` before this one, or the start of the timeline if that would be
    /// earlier.
    #[must_use]
    pub const fn earlier_by(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}
