//! Counts: what a scenario may give.

use crate::files::{Fault, Spanned};

/// The largest count. It keeps times multiplied by counts within 64 bits.
pub(super) const LARGEST_COUNT: i64 = 1_000_000;

/// Checks a count, if the scenario gives one.
pub(super) fn count(what: &str, value: Option<&Spanned<i64>>) -> Result<Option<u64>, Fault> {
    value.map(|value| value.within(what, 1..=LARGEST_COUNT)).transpose()
}
