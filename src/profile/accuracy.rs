//! How far predictions from a profile are off.

use super::Profile;
use super::checked_numbers::{if_known, not_negative, score};
use crate::program::Program;
use crate::units::{Span, words};
use serde::{Deserialize, Serialize};

/// How well a profile predicted trials: plans that ran during calibration and that no model was
/// fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Number of trials: plans of small random workloads, each run and predicted.
    pub trials: usize,
    /// Median of the absolute relative errors of the trials; `p95_error` is their 95% quantile.
    #[serde(deserialize_with = "not_negative")]
    pub median_error: f64,
    #[serde(deserialize_with = "not_negative")]
    pub p95_error: f64,
    /// Median relative difference between the two halves of a trial's passes: how much of the error
    /// is the machine's own unsteadiness.
    #[serde(default, deserialize_with = "if_known")]
    pub repeatability: Option<f64>,
    /// Share of trials whose measured time lies inside the 90% range, with margins taken from other
    /// trials. With two passes, ranges come from one pass and times from the other.
    #[serde(deserialize_with = "not_negative")]
    pub coverage: f64,
    #[serde(default, rename = "margin")]
    pub margins: Vec<Margin>,
}

/// By how much both ends of the predicted range are moved, for one kind of plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margin {
    /// The kind of plan. Left out: every kind that has no margin of its own.
    pub handling: Option<Handling>,
    /// For plans predicted to take this long or longer. Left out: no lower limit.
    pub from_ns: Option<Span>,
    /// For plans predicted to take less than this. Left out: no upper limit.
    pub below_ns: Option<Span>,
    /// Number of trials that the margin comes from.
    pub trials: usize,
    /// Above 0: each end moves outwards by a factor of which this is the logarithm. Below 0: each
    /// end moves inwards by this share of its distance to the prediction, so that a narrow range
    /// never vanishes.
    #[serde(deserialize_with = "score")]
    pub score: f64,
}

words! {
    /// The kinds of plans that differ in how well they can be predicted.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Handling {
        /// Uses no GPU.
        Cpu = "cpu",
        /// Copies pageable memory, through the driver's staging buffers.
        Pageable = "pageable",
        /// Copies pinned memory, call by call.
        Pinned = "pinned",
        /// Launches everything as one graph. The times of single calls, which widen the ranges of
        /// other plans, hardly matter here.
        Graph = "graph",
    }
}

impl Handling {
    pub fn of(program: &Program) -> Self {
        if program.computes_on_cpu() {
            Self::Cpu
        } else if program.has_graphs() {
            Self::Graph
        } else if program.has_staged_copies() {
            Self::Pageable
        } else {
            Self::Pinned
        }
    }
}

impl Accuracy {
    /// How far off the model itself is: 95% of trials were off by at most this share on the middle
    /// one of five machines in `calibration` (0.074, 0.114, 0.116, 0.134 and 0.195).
    pub const OF_MODEL: f64 = 0.116;

    /// Plans shorter than the first are dominated by latencies, and plans longer than the second by
    /// bandwidths.
    pub const SCALES: [Span; 2] = [Span::from_micros(50), Span::from_micros(250)];

    /// The range of predicted times that a plan falls into: its lower and its upper limit.
    pub fn scale(makespan: Span) -> [Option<Span>; 2] {
        let from = Self::SCALES.into_iter().rfind(|&scale| scale <= makespan);
        [from, Self::SCALES.into_iter().find(|&scale| makespan < scale)]
    }

    /// The score of the first margin that applies to such a plan; 0 if none does.
    pub fn margin_of(margins: &[Margin], handling: Handling, makespan: Span) -> f64 {
        let fits = |margin: &&Margin| {
            margin.handling.is_none_or(|wanted| wanted == handling)
                && margin.from_ns.is_none_or(|from| from <= makespan)
                && margin.below_ns.is_none_or(|below| makespan < below)
        };
        margins.iter().find(fits).map_or(0.0, |margin| margin.score)
    }
}

impl Profile {
    /// How many plans were tried on the machine.
    pub fn trials(&self) -> usize {
        self.accuracy.as_ref().map_or(0, |accuracy| accuracy.trials)
    }

    /// The score for a plan with this predicted time: from trials on the machine, or else from how
    /// far off the model is on other machines.
    pub fn margin(&self, program: &Program, makespan: Span) -> f64 {
        match &self.accuracy {
            Some(accuracy) => {
                Accuracy::margin_of(&accuracy.margins, Handling::of(program), makespan)
            }
            None => self.model_error.map_or(0.0, f64::ln_1p),
        }
    }
}
