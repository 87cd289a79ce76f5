//! What was not measured.

use super::curve::{Curve, Estimate};
use crate::units::{Bytes, Span};
use std::collections::BTreeSet;

/// What a profile cannot answer because it was not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the profile does not know {what}: `hallway calibrate` measures that; what a table may have of \
     it stands in docs/reference/table.md"
)]
pub struct Unknown {
    pub what: String,
}

impl Unknown {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }

    /// Everything that two answers lack, so that whoever fills in a table sees all of it at once.
    pub(crate) fn and(self, other: Self) -> Self {
        let all: BTreeSet<&str> =
            [&self, &other].iter().flat_map(|one| one.what.split(BETWEEN)).collect();
        Self { what: all.into_iter().collect::<Vec<_>>().join(BETWEEN) }
    }

    /// Both answers, or all that is missing.
    pub(crate) fn both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(one), Err(other)) => Err(one.and(other)),
            (Err(unknown), _) | (_, Err(unknown)) => Err(unknown),
        }
    }
}

/// Separates the things that are not known.
const BETWEEN: &str = "; ";

pub(super) fn known(
    estimate: &Option<Estimate>,
    what: impl Fn() -> String,
) -> Result<Span, Unknown> {
    estimate.as_ref().map(Estimate::span).ok_or_else(|| Unknown::new(what()))
}

/// The time of a curve over bytes, if the curve reaches so far.
pub(super) fn of_bytes(curve: &Curve, bytes: Bytes, what: &str) -> Result<f64, Unknown> {
    let end = |size: f64| Bytes::new(size as u64).to_string();
    curve.known(bytes.as_f64()).map_err(|beyond| Unknown::new(beyond.of(what, end)))
}
