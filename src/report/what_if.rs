//! What would be, beside what is.

use super::answer::Answer;
use super::in_brief::InBrief;
use super::words::range;
use crate::units::Span;
use crate::what_if::{SEARCHED, TurningFactor};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer with something changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WhatIf {
    /// The change, as given to `--what-if`.
    pub change: String,
    #[serde(flatten)]
    pub answer: InBrief,
    /// The factor at which the verdict for a single run changes. `null` if the change scales
    /// nothing or several things, or if a side has no plan.
    pub turning: Option<Turning>,
    /// Assumptions that are not measured.
    pub assumptions: Vec<String>,
    /// Why no plan can be predicted, if so.
    pub unknown: Option<String>,
}

/// The factor from which the other side is faster in a single run, using the plans that a
/// break-even search tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Turning {
    /// The factor closest to 1. `null` if the verdict does not change at any factor tried.
    pub at: Option<f64>,
    /// The side that is faster there.
    pub to: Option<Answer>,
    /// The smallest and the largest factor tried.
    pub tried: [f64; 2],
}

impl Turning {
    pub fn of(turn: Option<&TurningFactor>) -> Self {
        let side = |turn: &TurningFactor| if turn.to_gpu { Answer::Gpu } else { Answer::Cpu };
        Self { at: turn.map(|turn| turn.at), to: turn.map(side), tried: SEARCHED }
    }

    pub(super) fn words(&self) -> String {
        let side = match self.to {
            Some(Answer::Gpu) => "GPU",
            _ => "CPU",
        };
        match self.at {
            Some(at) if at < 1.0 => format!("{side} below {}x", factor(at)),
            Some(at) => format!("{side} above {}x", factor(at)),
            None => "never".to_owned(),
        }
    }
}

/// Two significant digits.
fn factor(factor: f64) -> String {
    match factor {
        ..0.0995 => format!("{factor:.3}"),
        ..9.95 => format!("{factor:.2}"),
        _ => format!("{factor:.0}"),
    }
}

/// A time, or that it is not known.
pub(super) fn in_cell(time: Option<Span>) -> String {
    time.map_or_else(|| "-".to_owned(), |one| one.to_string())
}

impl InBrief {
    /// Verdict, winner, time, range and what bounds it, for a row of a table.
    pub(super) fn cells(&self) -> [String; 5] {
        let range = self.low_ns.zip(self.high_ns).map(|(low, high)| range(low, high));
        [
            match self.answer == self.pass_answer {
                true => self.answer.in_a_word().to_owned(),
                false => {
                    let [program, pass] = [self.answer, self.pass_answer].map(Answer::in_a_word);
                    format!("{program}; single run: {pass}")
                }
            },
            self.winner.clone().unwrap_or_else(|| "-".to_owned()),
            in_cell(self.predicted_ns),
            range.unwrap_or_else(|| "-".to_owned()),
            self.bottleneck.map_or_else(|| "-".to_owned(), |one| one.to_string()),
        ]
    }
}
