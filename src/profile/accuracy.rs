//! How far predictions from a profile are off.

use super::checked::{if_known, not_negative, score};
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
    #[serde(deserialize_with = "not_negative")]
    pub median_error: f64,
    #[serde(deserialize_with = "not_negative")]
    pub p95_error: f64,
    /// By what share the same trials took longer or less in the second half of their passes than in
    /// the first, in the median: what part of the errors is the machine's own unsteadiness.
    #[serde(default, deserialize_with = "if_known", skip_serializing_if = "Option::is_none")]
    pub repeatability: Option<f64>,
    /// Share of trials inside 90% ranges whose margins came from other trials: where there were two
    /// passes, inside ranges of the one pass in the other.
    #[serde(deserialize_with = "not_negative")]
    pub coverage: f64,
    #[serde(rename = "margin")]
    pub margins: Vec<Margin>,
}

/// What both ends of the ranges of a kind of plan are moved by: outwards, or inwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margin {
    /// Left out: plans of every kind that has no margin of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Predicted to take this or more. Left out: however little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<Span>,
    /// Predicted to take less than this. Left out: however long it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_ns: Option<Span>,
    /// Trials behind it.
    pub trials: usize,
    /// Outwards, the logarithm of the factor. Below 0 inwards, so much of the way to the
    /// prediction: a range that is narrow already keeps its share of what it has.
    #[serde(deserialize_with = "score")]
    pub score: f64,
}

/// How a plan goes about its work: what decides how well it can be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handling {
    /// With no GPU.
    Cpu,
    /// Copies pageable memory, through the driver's staging buffers.
    Pageable,
    /// Copies pinned memory, call by call.
    Pinned,
    /// Launches all as one graph: how long calls take, and when they come, makes the ranges of
    /// the others wide, and not of these.
    Graph,
}

impl Handling {
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Pageable, Self::Pinned, Self::Graph];

    pub fn of(plan: &Plan) -> Self {
        match (plan.strategy.family, plan.strategy.memory) {
            (Family::Cpu, _) => Self::Cpu,
            _ if plan.strategy.graph => Self::Graph,
            (_, HostMemory::Pageable) => Self::Pageable,
            (_, HostMemory::Pinned) => Self::Pinned,
        }
    }
}

impl Accuracy {
    /// Latencies decide below the first, bandwidths above the second.
    pub const SCALES: [Span; 2] = [Span::from_micros(50), Span::from_micros(250)];

    /// The scale that a plan is on if it is predicted to take so long: from when on, and until
    /// when.
    pub fn scale(makespan: Span) -> [Option<Span>; 2] {
        let from = Self::SCALES.into_iter().rfind(|&scale| scale <= makespan);
        [from, Self::SCALES.into_iter().find(|&scale| makespan < scale)]
    }

    /// The first of the margins that is for such a plan; 0 if none is.
    pub fn margin_of(margins: &[Margin], handling: Handling, makespan: Span) -> f64 {
        let fits = |margin: &&Margin| {
            margin.handling.is_none_or(|wanted| wanted == handling)
                && margin.from_ns.is_none_or(|from| from <= makespan)
                && margin.below_ns.is_none_or(|below| makespan < below)
        };
        margins.iter().find(fits).map_or(0.0, |margin| margin.score)
    }

    /// The margin of a plan that is predicted to take so long.
    pub fn margin(&self, plan: &Plan, makespan: Span) -> f64 {
        Self::margin_of(&self.margins, Handling::of(plan), makespan)
    }
}
