//! How far predictions were from what was measured, in a few figures.

use super::words::rounded;
use crate::compare::Errors;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A summary of prediction errors. `median`, `p95` and `worst` are absolute relative errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ErrorFigures {
    /// Number of plans.
    pub plans: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// 95th percentile of the absolute relative errors.
    pub p95: f64,
    /// Largest absolute relative error.
    pub worst: f64,
    /// Share of the measurements within their predicted ranges.
    pub coverage: f64,
}

impl From<Errors> for ErrorFigures {
    fn from(errors: Errors) -> Self {
        Self {
            plans: errors.plans,
            median: rounded(errors.median),
            p95: rounded(errors.p95),
            worst: rounded(errors.worst),
            coverage: rounded(errors.coverage),
        }
    }
}
