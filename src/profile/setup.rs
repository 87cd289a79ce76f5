//! What it costs to make what a plan needs.

use super::Estimate;
use serde::{Deserialize, Serialize};

/// Host time of making what a plan needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupCosts {
    pub stream: Option<Estimate>,
    pub event: Option<Estimate>,
    /// Making a context while another one is in use.
    pub context: Option<Estimate>,
    /// Loading a module that NVRTC compiled and that the driver has in its cache.
    pub module: Option<Estimate>,
}
