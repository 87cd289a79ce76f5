//! How much of a prediction hangs on costs that the profile has from another machine.

use crate::profile::{BorrowedCosts, Profile};
use crate::program::Program;
use crate::simulate::makespan;

/// How much of a plan's time is borrowed costs of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct BorrowedShare {
    pub costs: BorrowedCosts,
    /// The profile that they come from.
    pub from: String,
    /// The share of the time of a pass.
    pub share: f64,
}

/// By how much borrowed costs are raised to see what a plan's time does: little enough that
/// operations keep their order, and enough that rounding to nanoseconds does not matter.
const RAISED: f64 = 1.25;

/// What hangs on borrowed costs, over the plans given: the largest share of each kind.
pub(super) fn borrowed(plans: &[&Program], profile: &Profile) -> Vec<BorrowedShare> {
    let time =
        |program: &Program, profile: &Profile| Some(makespan(program, profile).ok()?.nanos_f64());
    let groups = profile.borrowed_costs().map(|(lender, group)| {
        let raised = profile.scaled(&group.parameters, RAISED);
        let share = |program: &&Program| {
            let (usual, longer) = (time(program, profile)?, time(program, &raised)?);
            Some((longer - usual) / (RAISED - 1.0) / usual)
        };
        let share = plans.iter().filter_map(share).fold(0.0, f64::max).min(1.0);
        BorrowedShare { costs: group.costs, from: lender.from.clone(), share }
    });
    groups.collect()
}
