//! The answer: today's time, what each remedy gains, the best combination, and what gains nothing.

use super::refusal::Refusal;
use super::remedy::Remedy;
use super::rewriting::{Condition, Place};
use crate::program::Program;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// What would help a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Number of calls in a pass.
    pub calls: u64,
    /// Predicted time of a pass without any change.
    pub today: TimedRange,
    /// Measured time of a pass without any change. `null` unless the programs were run.
    pub today_measured_ns: Option<Span>,
    /// Where this time goes.
    pub breakdown: Breakdown,
    /// Remedies that gain at least one percent by themselves, best first.
    pub changes: Vec<Change>,
    /// Remedies that gain as much, but only under conditions that the program does not show, best
    /// first. No combination includes them.
    pub only_if: Vec<Change>,
    /// The best combination found. `null` if no rewriting of the calls gains anything.
    pub best: Option<Combination>,
    /// Remedies that gain less or do not apply.
    pub no_gain: Vec<NoGain>,
    /// Kernels that have no `grid`. Each is assumed to fill the GPU, so that no other kernel runs
    /// at the same time.
    pub without_grid: Vec<String>,
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
    /// Lower end of the range that should contain the true time nine times out of ten.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
}

/// What the GPU does during a pass. The parts add up to the time of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakdown {
    /// Time in which only kernels run.
    pub kernels_ns: Span,
    /// Time in which only copies over the link run.
    pub copies_ns: Span,
    /// Time in which kernels and copies run at once.
    pub both_ns: Span,
    /// Time in which neither runs.
    pub idle_ns: Span,
}

/// A remedy, and what it gains by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The remedy.
    pub remedy: Remedy,
    /// The calls that it changes, largest first.
    pub places: Vec<Place>,
    /// The conditions under which the changed program does the same as the original.
    pub conditions: Vec<Condition>,
    /// Time of a pass with this change and, in a combination, with the changes before it.
    pub time: TimedRange,
    /// Where this time goes.
    pub breakdown: Breakdown,
    /// Speed-up over the program without any change.
    pub factor: f64,
    /// The range that should contain the true speed-up nine times out of ten.
    pub factor_range: [f64; 2],
    /// The speed-up by the rule of a textbook: kernels plus bytes at 12 GB/s, without calls, waits
    /// and overlap.
    pub textbook_factor: f64,
    /// What it needs in addition to what the program uses today.
    pub takes: Takes,
    /// What was measured for the changed program. `null` unless it was run.
    pub measured: Option<Measured>,
}

/// What running a changed program on the GPU showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Time of a pass.
    pub pass_ns: Span,
    /// Speed-up over the unchanged program, whose runs alternated with those of this one.
    pub factor: f64,
}

/// What a change needs in addition to what the program uses today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Takes {
    /// Amount of pinned host memory.
    pub pinned_bytes: Bytes,
    /// Amount of GPU memory.
    pub device_bytes: Bytes,
    /// Number of streams.
    pub streams: u64,
    /// Extra time of the set-up, paid once. `null` if the profile lacks a cost.
    pub once_ns: Option<Span>,
    /// Number of passes after which the extra set-up pays off.
    pub pays_from_passes: Option<u64>,
}

/// Several remedies combined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Combination {
    /// The remedies in the order in which they were added, each with the time of a pass up to this
    /// step.
    pub steps: Vec<Change>,
    /// Lower bound for the time of the combination's calls in any order.
    pub least_ns: Span,
    /// What all remedies together need in addition to what the program uses today.
    pub takes: Takes,
    /// What was measured for the program with all of them. `null` unless it was run.
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
    /// Speed-up with this remedy. `null` if it does not apply.
    pub factor: Option<f64>,
    /// Whether the best combination includes it.
    pub is_combined: bool,
}
