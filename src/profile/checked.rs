//! Numbers of a file that are checked as they are read: what is wrong has its place then.

use serde::de::{Deserialize, Deserializer, Error};

/// In nanoseconds, a quarter of an hour: a plan of many is still far from the end of time.
pub(super) const LONGEST: f64 = 1e12;

/// A time, a slowdown or a scatter.
pub(super) fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (0.0..LONGEST).contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!("{number} should be a number, and not below 0 or huge")))
    }
}

/// The logarithm of a factor that ranges are widened by.
pub(super) fn log_ratio<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (-10.0..=10.0).contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!("{number} should be the logarithm of a factor, -10 to 10")))
    }
}

type Pairs = Vec<(f64, f64)>;

/// Shares of misses over footprints.
pub(super) fn misses<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let pairs = Option::<Pairs>::deserialize(from)?;
    let is_share = |&(footprint, share): &(f64, f64)| {
        (0.0..1e18).contains(&footprint) && (0.0..=1.0).contains(&share)
    };
    match &pairs {
        Some(pairs) if !(increase(pairs) && pairs.iter().all(is_share)) => Err(D::Error::custom(
            "these should be pairs of bytes, increasing, and a share of misses, 0 to 1",
        )),
        _ => Ok(pairs),
    }
}

/// Factors over the shares of cases that are below.
pub(super) fn spread<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let pairs = Option::<Pairs>::deserialize(from)?;
    let is_factor = |&(share, factor): &(f64, f64)| {
        (0.0..=1.0).contains(&share) && (1e-6..1e6).contains(&factor)
    };
    match &pairs {
        Some(pairs) if !(increase(pairs) && pairs.iter().all(is_factor)) => Err(D::Error::custom(
            "these should be pairs of a share, 0 to 1 and increasing, and a factor above 0",
        )),
        _ => Ok(pairs),
    }
}

/// There are some, in order of the first of each.
fn increase(pairs: &Pairs) -> bool {
    !pairs.is_empty() && pairs.is_sorted_by(|one, next| one.0 < next.0)
}
