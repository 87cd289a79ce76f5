//! Counts: what a scenario may give.

use crate::files::{Fault, Spanned};

/// The largest count. It keeps times multiplied by counts within 64 bits.
pub(super) const LARGEST_COUNT: i64 = 1_000_000;

/// A whole number from one up.
pub(super) fn positive(what: &str, value: &Spanned<i64>) -> Result<u64, Fault> {
    u64::try_from(*value.get_ref()).ok().filter(|&value| value > 0).ok_or_else(|| {
        Fault::new(
            format!("{what} is {value}, but must be at least 1"),
            value.span(),
            "too small",
            "write a whole number of 1 or more",
        )
    })
}

/// Checks a count, if the scenario gives one.
pub(super) fn count(what: &str, value: Option<&Spanned<i64>>) -> Result<Option<u64>, Fault> {
    at_most(what, value, LARGEST_COUNT)
}

/// A whole number from one to `most`, where one is given.
pub(super) fn at_most(
    what: &str,
    value: Option<&Spanned<i64>>,
    most: i64,
) -> Result<Option<u64>, Fault> {
    let Some(value) = value else { return Ok(None) };
    if *value.get_ref() > most {
        return Err(Fault::new(
            format!("{what} is {value}, but must be at most {most}"),
            value.span(),
            "too large",
            format!("write a whole number from 1 to {most}"),
        ));
    }
    positive(what, value).map(Some)
}
