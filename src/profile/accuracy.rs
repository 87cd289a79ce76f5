//! How far predictions from a profile are off.

use crate::plan::{Family, Plan};
use crate::scenario::HostMemory;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// What calibration found by running plans that its models had not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Plans of small random workloads that were run and predicted.
    pub trials: usize,
    /// Of their absolute relative errors.
    pub median_error: f64,
    pub p95_error: f64,
    /// Share of trials inside 90% ranges whose margins came from other trials.
    pub coverage: f64,
    #[serde(rename = "margin")]
    pub margins: Vec<Margin>,
}

/// What ranges of a kind of plan are widened by, at both ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margin {
    /// Left out: plans of every kind that has no margin of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Predicted to take less than [`Accuracy::SHORT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<bool>,
    /// Trials behind it.
    pub trials: usize,
    /// Logarithm of the factor; below 0 where ranges were too wide.
    pub log_ratio: f64,
}

/// What a plan does with host memory: what decides how well it can be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handling {
    /// Works on it, with no GPU.
    Cpu,
    /// Copies it through the driver's staging buffers.
    Pageable,
    Pinned,
}

impl Handling {
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Pageable, Self::Pinned];

    pub fn of(plan: &Plan) -> Self {
        match (plan.strategy.family, plan.strategy.memory) {
            (Family::Cpu, _) => Self::Cpu,
            (_, HostMemory::Pageable) => Self::Pageable,
            (_, HostMemory::Pinned) => Self::Pinned,
        }
    }
}

impl Accuracy {
    /// Below this, latencies decide, and above it, bandwidths.
    pub const SHORT: Span = Span::from_nanos(100_000);

    pub fn is_short(makespan: Span) -> bool {
        makespan < Self::SHORT
    }

    /// The margin of a kind of plan among those found; 0 if there is none.
    pub fn margin_of(margins: &[Margin], (handling, short): (Handling, bool)) -> f64 {
        let fits = |margin: &&Margin| {
            margin.handling.is_none_or(|wanted| wanted == handling)
                && margin.short.is_none_or(|wanted| wanted == short)
        };
        margins.iter().find(fits).map_or(0.0, |margin| margin.log_ratio)
    }

    /// The margin of a plan that is predicted to take so long.
    pub fn margin(&self, plan: &Plan, makespan: Span) -> f64 {
        Self::margin_of(&self.margins, (Handling::of(plan), Self::is_short(makespan)))
    }
}
