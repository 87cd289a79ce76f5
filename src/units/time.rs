//! Points in time and lengths of time, as two types that cannot be mixed up.
//!
//! Both end at 292 years, what a signed number of 64 bits holds in nanoseconds. Sums and products
//! that would be longer are [`Span::LONGEST`]: nothing wraps.

use super::{ParseError, number_and_unit};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// A length of time in whole nanoseconds, never negative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Span(#[serde(deserialize_with = "within_longest")] u64);

/// The most nanoseconds.
const MOST: u64 = i64::MAX as u64;

fn within_longest<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    u64::deserialize(from).map(|nanos| nanos.min(MOST))
}

impl Span {
    pub const ZERO: Self = Self(0);
    /// 292 years. It also stands for all that is longer.
    pub const LONGEST: Self = Self(MOST);
    /// Nanoseconds of a day: the longest time that a scenario states.
    pub const DAY: f64 = 86_400e9;

    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(if nanos < MOST { nanos } else { MOST })
    }

    pub const fn from_micros(micros: u64) -> Self {
        Self::from_nanos(micros.saturating_mul(1_000))
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// Rounds to the nearest nanosecond.
    ///
    /// # Panics
    /// If `seconds` is negative or no number.
    pub fn from_seconds_f64(seconds: f64) -> Self {
        Self::from_nanos_f64(seconds * 1e9)
    }

    /// Rounds to the nearest nanosecond.
    ///
    /// # Panics
    /// If `nanos` is negative or no number.
    #[inline]
    pub fn from_nanos_f64(nanos: f64) -> Self {
        assert!(nanos >= 0.0, "a span of {nanos} ns");
        // This runs for every simulated event. Adding a half and truncating rounds without a call
        // into the mathematics library, and processors convert signed integers in one step. What is
        // too large for one becomes the largest.
        Self((nanos + 0.5) as i64 as u64)
    }

    /// The nanoseconds in a text such as `"3.5 ms"`, or a part of one in `"0.2 ns"`.
    ///
    /// # Errors
    /// If the text is no number with one of the units ns, us, ms and s, or more than a day.
    pub fn nanos_in(text: &str) -> Result<f64, ParseError> {
        let expected = "a time of up to a day, such as \"3.5 ms\" or \"20 us\"";
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

    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    #[inline]
    pub fn nanos_f64(self) -> f64 {
        // A signed integer converts in one step, and no span is longer than one holds.
        self.0 as i64 as f64
    }

    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// In whole years, for spans of many.
    pub fn in_years(self) -> String {
        const YEAR: f64 = 365.25 * Span::DAY;
        format!("{} years", (self.nanos_f64() / YEAR) as u64)
    }

    /// The span to the nanosecond, in the largest unit of which it is a whole number: `1500 us`.
    pub fn exactly(self) -> String {
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let is_whole = |size: u64| self.0 > 0 && self.0.is_multiple_of(size);
        let (unit, size) = units.into_iter().find(|&(_, size)| is_whole(size)).unwrap_or(("ns", 1));
        format!("{} {unit}", self.0 / size)
    }

    /// The difference, or zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<std::time::Duration> for Span {
    fn from(duration: std::time::Duration) -> Self {
        u64::try_from(duration.as_nanos()).map_or(Self::LONGEST, Self::from_nanos)
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        // Two of the longest fit into 64 bits.
        Self::from_nanos(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        debug_assert!(other <= self, "a span is never negative");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self::from_nanos(self.0.saturating_mul(times))
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
pub struct Instant(#[serde(deserialize_with = "within_longest")] u64);

impl Instant {
    pub const START: Self = Self(0);
    /// Later than everything that happens.
    pub const NEVER: Self = Self(u64::MAX);
    /// What comes later than this is not simulated: half of the longest span.
    pub const HORIZON: Self = Self(MOST / 2);

    /// The time since the start of the timeline.
    #[inline]
    pub const fn since_start(self) -> Span {
        Span::from_nanos(self.0)
    }

    /// The time since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.checked_sub(earlier.0).expect("time runs forwards"))
    }

    /// The point in time `span` before this one, or the start of the timeline if that would be
    /// earlier.
    #[must_use]
    #[inline]
    pub const fn earlier_by(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        debug_assert!(self != Self::NEVER, "nothing comes after never");
        Self(self.0.saturating_add(span.0).min(MOST))
    }
}
