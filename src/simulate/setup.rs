//! What a plan's set-up costs: calls that the host makes one after the other.

use super::cost::Costs;
use crate::plan::Plan;
use crate::profile::{Profile, Unknown};
use crate::units::Span;

/// Predicts the time of a plan's set-up.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(plan: &Plan, profile: &Profile) -> Result<Span, Unknown> {
    let costs = Costs::new(plan, profile);
    plan.setup.iter().map(|call| Ok(costs.class(call)?.host)).sum()
}
