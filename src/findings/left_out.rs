//! What is not known, not possible or not tried, each with its reason.

use crate::search::Shortage;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The plan that comes nearest to fitting, if none on the CPU or none on the GPU fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoRoom {
    /// Whether it is about plans on the CPU.
    pub on_cpu: bool,
    /// Name of the plan that comes nearest to fitting.
    pub plan: String,
    /// Which memory is too small: `device`, `pinned` or `host`.
    pub memory: String,
    /// How much of it the plan needs.
    pub needs_bytes: Bytes,
    /// How much the scenario's limits, or else the machine, allow.
    pub has_bytes: Bytes,
    /// Which memory is too small and by how much, and what to do about it.
    pub reason: String,
}

impl From<&Shortage> for NoRoom {
    fn from(shortage: &Shortage) -> Self {
        let Shortage { strategy, lacks, way_out } = shortage;
        let way_out = way_out.as_ref().map_or(String::new(), |way| format!("; or {way}"));
        Self {
            on_cpu: strategy.is_on_cpu(),
            plan: strategy.to_string(),
            memory: lacks.memory.to_owned(),
            needs_bytes: lacks.needs,
            has_bytes: lacks.has,
            reason: format!("{lacks}{way_out}"),
        }
    }
}

/// A plan that is missing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Name of the plan.
    pub plan: String,
    /// Why it is missing.
    pub reason: String,
}
