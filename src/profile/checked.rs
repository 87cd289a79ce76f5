//! Numbers of a file that are checked as they are read: what is wrong has its place then.

use serde::de::{Deserialize, Deserializer, Error};

/// In nanoseconds, a quarter of an hour: a plan of many is still far from the end of time.
pub(super) const LONGEST: f64 = 1e12;

/// A time, a slowdown or a scatter.
pub(super) fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, |number| (0.0..LONGEST).contains(&number), "a number, and not below 0 or huge")
}

/// The same of what may be left out.
pub(super) fn if_known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    not_negative(from).map(Some)
}

/// What the ends of ranges are moved by: all the way to the prediction at most.
pub(super) fn score<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let expected = "the logarithm of a factor or below 0 a share, -1 to 10";
    number(from, |number| (-1.0..=10.0).contains(&number), expected)
}

fn number<'de, D: Deserializer<'de>>(
    from: D,
    is_right: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong = || D::Error::custom(format!("{number} should be {expected}"));
    is_right(number).then_some(number).ok_or_else(wrong)
}

type Pairs = Vec<(f64, f64)>;

/// Shares of misses over footprints.
pub(super) fn misses<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right = |(footprint, share): (f64, f64)| {
        (0.0..1e18).contains(&footprint) && (0.0..=1.0).contains(&share)
    };
    pairs(from, is_right, "bytes, increasing, and a share of misses, 0 to 1")
}

/// Factors over the shares of cases that are below.
pub(super) fn spread<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right =
        |(share, factor): (f64, f64)| (0.0..=1.0).contains(&share) && (1e-6..1e6).contains(&factor);
    pairs(from, is_right, "a share, 0 to 1 and increasing, and a factor above 0")
}

/// One or more, in order of the first of each.
fn pairs<'de, D: Deserializer<'de>>(
    from: D,
    is_right: impl Fn((f64, f64)) -> bool,
    expected: &str,
) -> Result<Option<Pairs>, D::Error> {
    let pairs = Option::<Pairs>::deserialize(from)?;
    let are_right = |pairs: &Pairs| {
        let increase = pairs.is_sorted_by(|one, next| one.0 < next.0);
        !pairs.is_empty() && increase && pairs.iter().all(|&pair| is_right(pair))
    };
    if pairs.as_ref().is_none_or(are_right) {
        Ok(pairs)
    } else {
        Err(D::Error::custom(format!("these should be pairs of {expected}")))
    }
}
