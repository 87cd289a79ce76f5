//! What a plan's set-up costs: calls that the host makes one after the other, and capturing graphs.

use super::cost::{Costs, Data};
use crate::plan::Plan;
use crate::profile::{GraphCall, Profile, Unknown};
use crate::units::Span;

/// Predicts the time of a plan's set-up.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(plan: &Plan, profile: &Profile) -> Result<Span, Unknown> {
    let costs = Costs::new(plan, profile);
    let calls =
        plan.setup.iter().map(|call| Ok(costs.class(call, &Data::default(), (None, None))?.host));
    let graphs = plan.graphs().map(|graph| {
        let cost = |call| profile.graph_call(call, graph.nodes);
        Ok(cost(GraphCall::Capture)? + cost(GraphCall::Instantiate)?)
    });
    calls.chain(graphs).sum()
}
