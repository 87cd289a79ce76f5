//! Plans that run along with the measurements.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A plan that was run along with the measurements. Nothing that predicts a
/// time is fitted to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The text of a scenario.
    pub scenario: String,
    /// The name of one of its plans.
    pub plan: String,
    /// Host time of each pass over the body.
    pub passes: Vec<Span>,
    /// How many of them were taken along with the first pass of the measurements. Left out: half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_first: Option<usize>,
    /// That of each pass during which something else used the core of the issuing thread,
    /// if enough others could be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Span>,
}
