//! What would be, beside what is.

use super::{Answer, InBrief};
use crate::what_if::{SEARCHED, TurningFactor};
use serde::{Deserialize, Serialize};

/// The answer if something were different.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIf {
    /// What would be different, as `--what-if` names it.
    pub change: String,
    #[serde(flatten)]
    pub answer: InBrief,
    /// The factor at which the answer for one run turns. `null` if the change scales nothing, or
    /// several things, or if a side has no plan.
    pub turning: Option<Turning>,
    /// What is assumed and was never measured.
    pub assumptions: Vec<String>,
    /// Why no plan can be predicted then, if none can.
    pub unknown: Option<String>,
}

/// The factor from which on the other side is faster in one run, with the plans that a break-even
/// tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turning {
    /// The factor nearest to 1. `null` if the answer turns at no factor that was tried.
    pub at: Option<f64>,
    /// The side that is faster there.
    pub to: Option<Answer>,
    /// The smallest and the largest factor that were tried.
    pub tried: [f64; 2],
}

impl Turning {
    pub fn of(turn: Option<&TurningFactor>) -> Self {
        let side = |turn: &TurningFactor| if turn.to_gpu { Answer::Gpu } else { Answer::Cpu };
        Self { at: turn.map(|turn| turn.at), to: turn.map(side), tried: SEARCHED }
    }
}
