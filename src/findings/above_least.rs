//! How far the fastest plan is above the time that no schedule goes below, and why.

use super::AssessedPlan;
use crate::machine::Side;
use crate::stats::rounded;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// From this share on, a plan is far above what no schedule goes below.
const FAR: f64 = 0.2;
/// The share of the difference from which calls and waits explain it.
const MOST: f64 = 0.5;

/// How far the fastest plan is above the least time, which is a lower bound for all schedules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AboveLeast {
    /// The fastest plan.
    pub plan: String,
    /// How much longer it takes than the least time, as a share of the least time.
    pub share: f64,
    /// Time of the calls, waits and hand-overs on its critical path. The least time does not
    /// include them.
    pub calls_and_waits_ns: Span,
    /// Whether these make up most of the difference. If not, a faster schedule may exist, or no
    /// schedule may reach the least time.
    pub mostly_calls_and_waits: bool,
}

impl AboveLeast {
    /// `None` if the plan is near the least time.
    pub fn of(plan: &AssessedPlan, least: Span) -> Option<Self> {
        let [takes, least] = [plan.predicted_ns, least].map(Span::nanos_f64);
        let share = takes / least.max(1.0) - 1.0;
        if share < FAR {
            return None;
        }
        let path = &plan.critical_path;
        // What the host computes is work, not calls.
        let calls = if plan.side == Side::Gpu { path.host } else { 0.0 };
        let calls_and_waits = takes * (path.gaps + calls);
        Some(Self {
            plan: plan.plan.clone(),
            share: rounded(share),
            calls_and_waits_ns: Span::from_nanos(calls_and_waits as u64),
            mostly_calls_and_waits: calls_and_waits >= MOST * (takes - least),
        })
    }
}
