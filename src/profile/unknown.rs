//! What a profile cannot answer, and why.

use super::curve::{Curve, Estimate};
use crate::units::{Bytes, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a profile answers, or why it cannot.
pub type Known<T = ()> = Result<T, Unknown>;

/// What a profile cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    missing: BTreeMap<Why, BTreeSet<String>>,
}

/// Why something is not known, and so what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// A calibration measures it. The profile comes from a table, or something was in the way.
    NotMeasured,
    /// A calibration with enough GPUs measures it.
    NoSuchGpu,
    /// Its size is far from all those that calibrations measure.
    Beyond,
    /// It is the time of a scenario's own kernel, which a calibration measures if it is told to.
    OfScenario,
    /// It is the time of a scenario's own kernel on a processor, and the scenario states none.
    NotStated,
    /// A scenario's own kernel has a time at one size only, and a plan runs it at another.
    OneSize,
    /// Nothing measures it.
    NotPredicted,
}

impl Why {
    fn of(self, what: &str) -> String {
        match self {
            Self::NotMeasured => format!(
                "the profile lacks {what}: run `hallway calibrate` to measure this; \
                 docs/reference/table.md says whether a table can supply this instead"
            ),
            Self::NoSuchGpu => format!(
                "the profile lacks {what}: `hallway calibrate` measures this on a machine with \
                 enough GPUs, unless `--gpus` limits their number"
            ),
            Self::Beyond => format!(
                "the profile lacks {what}: `hallway calibrate` does not measure this size, but a \
                 table can supply this (docs/reference/table.md)"
            ),
            Self::OfScenario => {
                format!("the profile lacks {what}: `hallway calibrate --scenario FILE` measures it")
            }
            Self::NotStated => format!(
                "the scenario lacks {what}: add points, a roofline or a stated time to the \
                 `[[kernel]]`"
            ),
            Self::OneSize => format!(
                "{what} at only one size, but its chunks have a different size: add a second \
                 point to its `[[kernel]]`"
            ),
            Self::NotPredicted => format!("hallway cannot predict {what}"),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences = self.missing.iter().map(|(why, what)| why.of(&joined(what)));
        f.write_str(&sentences.collect::<Vec<_>>().join(". Also, "))
    }
}

impl std::error::Error for Unknown {}

fn joined(what: &BTreeSet<String>) -> String {
    what.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
}

impl Unknown {
    /// Something that calibrations measure, and that this profile does not have.
    pub fn new(what: impl Into<String>) -> Self {
        Self::because(Why::NotMeasured, what)
    }

    /// Something that hallway predicts from no profile.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::because(Why::NotPredicted, what)
    }

    pub(super) fn because(why: Why, what: impl Into<String>) -> Self {
        Self { missing: BTreeMap::from([(why, BTreeSet::from([what.into()]))]) }
    }

    /// All that is not known, without why.
    pub fn what(&self) -> String {
        self.missing.values().map(joined).collect::<Vec<_>>().join("; ")
    }

    /// Everything that two answers lack, so that whoever fills in a table sees all of it at once.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for (why, what) in other.missing {
            self.missing.entry(why).or_default().extend(what);
        }
        self
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

pub(super) fn known(estimate: &Option<Estimate>, what: impl Fn() -> String) -> Known<Span> {
    estimate.as_ref().map(Estimate::span).ok_or_else(|| Unknown::new(what()))
}

/// The time of a curve over bytes, if the curve reaches so far.
pub(super) fn of_bytes(curve: &Curve, bytes: Bytes, what: &str) -> Known<f64> {
    let end = |size: f64| Bytes::new(size as u64).to_string();
    curve
        .known(bytes.as_f64())
        .map_err(|beyond| Unknown::because(Why::Beyond, beyond.of(what, end)))
}
