//! How much of a prediction hangs on costs that the profile has from another machine.

use crate::profile::{BorrowedCosts, Profile};
use crate::program::Program;
use crate::simulate::makespan;
use crate::units::Span;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Costs of one kind that the profile borrowed from another machine's profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BorrowedCost {
    /// The kind of costs.
    pub costs: BorrowedCosts,
    /// The profile that they come from.
    pub from: String,
    /// Their share of the time of a run.
    pub share: f64,
    /// Time of a run of each compared plan if these costs are off by as much as they differ between
    /// machines.
    pub ranges: Vec<BorrowedRange>,
    /// Whether a different one of these plans would then be the fastest.
    pub changes_fastest: bool,
}

/// The time of a run if borrowed costs are off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BorrowedRange {
    /// Name of the plan.
    pub plan: String,
    /// The predicted time.
    pub time_ns: Span,
    /// The time with these costs at the lower end of the interval that contains nine machines in
    /// ten.
    pub low_ns: Span,
    /// The time with these costs at the upper end of that interval.
    pub high_ns: Span,
}

/// By how much borrowed costs are raised to see what a plan's time does: little enough that
/// operations keep their order, and enough that rounding to nanoseconds does not matter.
const RAISED: f64 = 1.25;

/// What hangs on borrowed costs, over the plans given with their names and predicted times: the
/// largest share of each kind, and how far each time moves.
pub(super) fn borrowed(plans: &[(String, Span, &Program)], profile: &Profile) -> Vec<BorrowedCost> {
    let times = |profile: &Profile| -> Times {
        let time = |(.., program): &(String, Span, &Program)| {
            Some(makespan(program, profile).ok()?.nanos_f64().max(1.0))
        };
        plans.par_iter().map(time).collect()
    };
    let usual = times(profile);
    let groups = profile.borrowed_costs().map(|(lender, group)| {
        let scaled = |factor| times(&profile.scaled(&group.parameters, factor));
        let share = usual.iter().zip(scaled(RAISED)).filter_map(|(usual, longer)| {
            let usual = (*usual)?;
            Some((longer? - usual) / (RAISED - 1.0) / usual)
        });
        let share = share.fold(0.0, f64::max).min(1.0);
        let [low, high] = group.costs.range().map(scaled);
        // In proportion, since the prediction is that of the middle draw.
        let moved = |ends: &Times| -> Times {
            let predicted = plans.iter().map(|(_, time, _)| time.nanos_f64());
            let moved = predicted
                .zip(&usual)
                .zip(ends)
                .map(|((time, usual), end)| Some(time * (*end)? / (*usual)?));
            moved.collect()
        };
        let predicted: Times = plans.iter().map(|(_, time, _)| Some(time.nanos_f64())).collect();
        let (low, high) = (moved(&low), moved(&high));
        let range = |(at, (name, time, _)): (usize, &(String, Span, &Program))| {
            let [one, other] = [low[at]?, high[at]?].map(Span::from_nanos_f64);
            Some(BorrowedRange {
                plan: name.clone(),
                time_ns: *time,
                low_ns: one.min(other).min(*time),
                high_ns: one.max(other).max(*time),
            })
        };
        BorrowedCost {
            costs: group.costs,
            from: lender.from.clone(),
            share,
            ranges: plans.iter().enumerate().filter_map(range).collect(),
            changes_fastest: [&low, &high].iter().any(|ends| fastest(ends) != fastest(&predicted)),
        }
    });
    groups.collect()
}

/// Nanoseconds of each plan, where it can be predicted.
type Times = Vec<Option<f64>>;

fn fastest(times: &Times) -> Option<usize> {
    let known = times.iter().enumerate().filter_map(|(at, time)| Some((at, (*time)?)));
    known.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}
