//! Plans that ran during a calibration, to see how well its profile predicts.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A plan that ran during a calibration. No model is fitted to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The text of a scenario.
    pub scenario: String,
    /// The name of one of its plans.
    pub plan: String,
    /// Host time of each pass over the body.
    pub passes: Vec<Span>,
    /// How many of the passes ran during the first pass of the calibration. Left out: half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_first: Option<usize>,
    /// Host time of each pass during which something else used the core of the issuing thread. Such
    /// passes are kept apart if there are enough undisturbed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Span>,
}
