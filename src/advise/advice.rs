//! The answer: today's time, what each remedy gains, the best combination, and what gains nothing.

use super::refusal::Refusal;
use super::remedies::Remedy;
use super::rewriting::{Condition, Place};
use crate::program::Program;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// What would help a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Calls of a pass.
    pub calls: u64,
    /// Predicted time of a pass as it is.
    pub today: TimedRange,
    /// Measured time of a pass as it is. `null` unless the programs were run.
    pub today_measured_ns: Option<Span>,
    /// Where that time goes.
    pub breakdown: Breakdown,
    /// Remedies that gain at least one percent by themselves, the best first.
    pub changes: Vec<Change>,
    /// Remedies that gain as much only if something is true that the program does not show, the
    /// best first. No combination has them.
    pub only_if: Vec<Change>,
    /// The best combination found. `null` if no remedy gains anything.
    pub best: Option<Combination>,
    /// Remedies that gain less, or do not apply.
    pub no_gain: Vec<NoGain>,
}

/// What would help a program, with the programs that the answer is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Advised {
    pub advice: Advice,
    /// The programs of the answer's changes, in their order.
    pub changes: Vec<Rewritten>,
    pub only_if: Vec<Rewritten>,
    /// The program of the best combination.
    pub best: Option<Rewritten>,
}

/// A changed program.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    pub program: Program,
    /// How many passes of the program as it was its body makes.
    pub passes: u64,
}

/// A predicted time of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimedRange {
    /// The predicted time.
    pub predicted_ns: Span,
    /// Low end of the range that is made to hold the true time nine times out of ten.
    pub low_ns: Span,
    /// Its high end.
    pub high_ns: Span,
}

/// What goes on during a pass. The parts add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakdown {
    /// Only kernels run.
    pub kernels_ns: Span,
    /// Only copies over the link run.
    pub copies_ns: Span,
    /// Kernels and copies run at once.
    pub both_ns: Span,
    /// The GPU does neither.
    pub idle_ns: Span,
}

/// A remedy, and what it gains by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The remedy.
    pub remedy: Remedy,
    /// What it changes, the largest first.
    pub places: Vec<Place>,
    /// What has to be true for the program to do the same.
    pub conditions: Vec<Condition>,
    /// Time of a pass with the change, and with those before it in a combination.
    pub time: TimedRange,
    /// How many times as fast as today.
    pub factor: f64,
    /// The range that is made to hold the true factor nine times out of ten.
    pub factor_range: [f64; 2],
    /// What it takes besides what the program takes today.
    pub takes: Takes,
    /// What was measured of the changed program. `null` unless it was run.
    pub measured: Option<Measured>,
}

/// What a run on the GPU showed of a changed program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Time of a pass.
    pub pass_ns: Span,
    /// How many times as fast as the program as it is, which ran in turn with it.
    pub factor: f64,
}

/// What a change takes besides what the program takes today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Takes {
    /// Page-locked host memory.
    pub pinned_bytes: Bytes,
    /// Memory of the GPU.
    pub device_bytes: Bytes,
    /// Streams.
    pub streams: u64,
    /// How much longer the set-up takes, once. `null` if the profile does not know.
    pub once_ns: Option<Span>,
    /// Passes from which on that pays off.
    pub pays_from_passes: Option<u64>,
}

/// Several remedies together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Combination {
    /// The remedies in the order in which they were added, each with the time up to there.
    pub steps: Vec<Change>,
    /// Where the time goes then.
    pub breakdown: Breakdown,
    /// The least that the combination's calls take, in whatever order.
    pub least_ns: Span,
    /// What all of it takes besides what the program takes today.
    pub takes: Takes,
    /// What was measured of the program with all of them. `null` unless it was run.
    pub measured: Option<Measured>,
}

/// A remedy that does not help by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoGain {
    /// The remedy.
    pub remedy: Remedy,
    /// Why it does not apply. `null` if it does.
    pub refusal: Option<Refusal>,
    /// How many times as fast the program gets with it. `null` if it does not apply.
    pub factor: Option<f64>,
    /// Whether the best combination has it.
    pub is_combined: bool,
}
