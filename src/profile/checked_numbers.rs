//! Numbers that are checked as they are read, so that an error has a place in the file.

use serde::de::{Deserialize, Deserializer, Error};
use std::ops::{Bound::Excluded, RangeBounds};

/// In nanoseconds, a quarter of an hour. A plan with thousands of such operations still ends
/// before 64 bits do.
const LONGEST: f64 = 1e12;

/// A standard deviation over a median. Beyond this, times would not scatter but mean nothing; the
/// widest of a calibration is 0.3.
const WIDEST: f64 = 10.0;

/// Nanoseconds per unit of size at most between two knots of a curve, a tenth of a second. The
/// steepest of a calibration is a thousandth of that. What goes on beyond its last knot as steeply
/// would soon take longer than can be counted.
const STEEPEST: f64 = 1e8;

/// Kinds of numbers, each with the range that they lie in and how an error describes it.
macro_rules! numbers {
    ($($(#[$about:meta])* $kind:ident: $range:expr, $expected:literal;)+) => {$(
        $(#[$about])*
        pub(super) fn $kind<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
            let number = f64::deserialize(from)?;
            let must = || format!("{number} is out of range: it must be {}", $expected);
            let wrong = || D::Error::custom(must());
            ($range).contains(&number).then_some(number).ok_or_else(wrong)
        }
    )+};
}

numbers! {
    time: 0.0..LONGEST, "a time in nanoseconds, from 0 to 1e12";
    /// A share of cases.
    share: 0.0..=1.0, "a share from 0 to 1";
    not_negative: 0.0..LONGEST, "a number from 0 to 1e12";
    scatter: 0.0..=WIDEST, "a standard deviation divided by a median, from 0 to 10";
    /// How many times as long something takes beside something else.
    slowdown: 0.5..=1000.0, "a ratio of two times, from 0.5 to 1000";
    /// How many times as large one of two rates is.
    above_zero: (Excluded(0.0), Excluded(LONGEST)), "a positive number below 1e12";
    /// By what the end of a predicted range is moved: a share of its distance to the prediction,
    /// all of it at most (-1), or above 0 the logarithm of a factor.
    score: -1.0..=10.0,
        "a number from -1 to 10: a share if negative, the logarithm of a factor if positive";
}

/// Like [`not_negative`], for a key that may be left out.
pub(super) fn if_known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    not_negative(from).map(Some)
}

type Pairs = Vec<(f64, f64)>;

/// Lists of two numbers each. The `(f64, f64)` of serde passes over a third one in silence.
fn in_pairs<E: Error>(lists: &[Vec<f64>]) -> Result<Pairs, E> {
    let pair = |list: &Vec<f64>| match list[..] {
        [first, second] => Ok((first, second)),
        _ => Err(E::custom(format!("this must be a pair of numbers, not {}", list.len()))),
    };
    lists.iter().map(pair).collect()
}

/// Pairs of a size and nanoseconds, of a curve.
pub(super) fn knots<'de, D: Deserializer<'de>>(from: D) -> Result<Pairs, D::Error> {
    let knots = in_pairs::<D::Error>(&Vec::<Vec<f64>>::deserialize(from)?)?;
    let are_numbers =
        |&(x, y): &(f64, f64)| (0.0..1e18).contains(&x) && (0.0..LONGEST).contains(&y);
    if knots.is_empty() || !knots.iter().all(are_numbers) {
        return Err(D::Error::custom(
            "a curve needs at least one pair in `knots`, with non-negative numbers within the \
             allowed range",
        ));
    }
    if !knots.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(D::Error::custom("the `knots` of a curve must be in order of increasing size"));
    }
    let is_too_steep =
        |pair: &&[(f64, f64)]| (pair[1].1 - pair[0].1).abs() > STEEPEST * (pair[1].0 - pair[0].0);
    match knots.windows(2).find(is_too_steep) {
        Some(pair) => Err(D::Error::custom(format!(
            "the change in `knots` from {:?} to {:?} is more than {STEEPEST:e} nanoseconds per \
             unit of size, which is impossible",
            pair[0], pair[1]
        ))),
        None => Ok(knots),
    }
}

/// Pairs of a footprint in bytes and the share of data that caches have lost by then.
pub(super) fn misses<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right = |(footprint, share): (f64, f64)| {
        (0.0..1e18).contains(&footprint) && (0.0..=1.0).contains(&share)
    };
    pairs(from, is_right, "a number of bytes (increasing) and a miss rate (from 0 to 1)")
}

/// Pairs of a share of cases and the factor that these stay below.
pub(super) fn spread<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right =
        |(share, factor): (f64, f64)| (0.0..=1.0).contains(&share) && (1e-6..1e6).contains(&factor);
    pairs(from, is_right, "a share (from 0 to 1, increasing) and a positive factor")
}

/// One pair or more, in increasing order of their first numbers.
fn pairs<'de, D: Deserializer<'de>>(
    from: D,
    is_right: impl Fn((f64, f64)) -> bool,
    expected: &str,
) -> Result<Option<Pairs>, D::Error> {
    let lists = Option::<Vec<Vec<f64>>>::deserialize(from)?;
    let pairs = lists.map(|lists| in_pairs::<D::Error>(&lists)).transpose()?;
    let are_right = |pairs: &Pairs| {
        let increase = pairs.is_sorted_by(|one, next| one.0 < next.0);
        !pairs.is_empty() && increase && pairs.iter().all(|&pair| is_right(pair))
    };
    if pairs.as_ref().is_none_or(are_right) {
        Ok(pairs)
    } else {
        Err(D::Error::custom(format!("these must be pairs of {expected}")))
    }
}
