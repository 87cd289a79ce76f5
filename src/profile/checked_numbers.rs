//! Numbers that are checked as they are read, so that an error has a place in the file.

use serde::de::{Deserialize, Deserializer, Error};

/// In nanoseconds, a quarter of an hour. A plan with thousands of such operations still ends
/// before 64 bits do.
pub(super) const LONGEST: f64 = 1e12;

/// A standard deviation over a median. Beyond this, times would not scatter but mean nothing; the
/// widest of a calibration is 0.3.
pub(super) fn is_scatter(scatter: f64) -> bool {
    const WIDEST: f64 = 10.0;
    (0.0..=WIDEST).contains(&scatter)
}

/// Nanoseconds per unit of size at most between two knots of a curve, a tenth of a second. The
/// steepest of a calibration is a thousandth of that. What goes on beyond its last knot as steeply
/// would soon take longer than can be counted.
pub(super) const STEEPEST: f64 = 1e8;

/// A time.
pub(super) fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, |number| (0.0..LONGEST).contains(&number), "a number from 0 to 1e12")
}

/// Reads a scatter that [`is_scatter`] allows.
pub(super) fn scatter<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, is_scatter, "a standard deviation divided by a median, from 0 to 10")
}

/// How many times as long something takes beside something else.
pub(super) fn slowdown<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let expected = "a ratio of two times, from 0.5 to 1000";
    number(from, |number| (0.5..=1000.0).contains(&number), expected)
}

/// Like [`not_negative`], for a key that may be left out.
pub(super) fn if_known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    not_negative(from).map(Some)
}

/// How many times as large one of two rates is.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, |number| number > 0.0 && number < LONGEST, "a positive number below 1e12")
}

/// By what the end of a predicted range is moved: a share of its distance to the prediction, all
/// of it at most (-1), or above 0 the logarithm of a factor.
pub(super) fn score<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let expected = "a number from -1 to 10: a share if negative, the logarithm of a factor if \
                    positive";
    number(from, |number| (-1.0..=10.0).contains(&number), expected)
}

fn number<'de, D: Deserializer<'de>>(
    from: D,
    is_right: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    let wrong = || D::Error::custom(format!("{number} must be {expected}"));
    is_right(number).then_some(number).ok_or_else(wrong)
}

/// Two numbers. The `(f64, f64)` of serde passes over a third one in silence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair(pub f64, pub f64);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let numbers = Vec::<f64>::deserialize(from)?;
        let [first, second] = numbers[..] else {
            return Err(D::Error::custom(format!(
                "this must be a pair of numbers, not {}",
                numbers.len()
            )));
        };
        Ok(Self(first, second))
    }
}

/// Pairs as readers want them.
pub(super) fn plain(pairs: Vec<Pair>) -> Pairs {
    pairs.into_iter().map(|Pair(first, second)| (first, second)).collect()
}

pub(super) type Pairs = Vec<(f64, f64)>;

/// Pairs of a footprint in bytes and the share of data that caches have lost by then.
pub(super) fn misses<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right = |(footprint, share): (f64, f64)| {
        (0.0..1e18).contains(&footprint) && (0.0..=1.0).contains(&share)
    };
    pairs(from, is_right, "increasing numbers of bytes and shares of misses from 0 to 1")
}

/// Pairs of a share of cases and the factor that these stay below.
pub(super) fn spread<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Pairs>, D::Error> {
    let is_right =
        |(share, factor): (f64, f64)| (0.0..=1.0).contains(&share) && (1e-6..1e6).contains(&factor);
    pairs(from, is_right, "increasing shares from 0 to 1 and positive factors")
}

/// One pair or more, in increasing order of their first numbers.
fn pairs<'de, D: Deserializer<'de>>(
    from: D,
    is_right: impl Fn((f64, f64)) -> bool,
    expected: &str,
) -> Result<Option<Pairs>, D::Error> {
    let pairs = Option::<Vec<Pair>>::deserialize(from)?.map(plain);
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
