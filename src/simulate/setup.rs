//! What a plan's set-up costs: calls that the host makes one after the other.

use super::cost;
use crate::plan::Plan;
use crate::profile::{Profile, Unknown};
use crate::units::Span;

/// Predicts the time of a plan's set-up.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(plan: &Plan, profile: &Profile) -> Result<Span, Unknown> {
    Ok(cost::costs(plan, profile, &plan.setup)?.iter().map(|call| call.host).sum())
}
