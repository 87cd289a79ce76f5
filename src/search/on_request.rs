//! Families that have plans for a workload, and that nobody gets who does not ask.

use super::candidates::strategies;
use crate::families::{Family, build};
use crate::scenario::{FamilyName, Workload};

/// The families that are tried on request and could make plans of a workload whose scenario asks
/// for no families.
pub fn on_request(workload: &Workload) -> Vec<FamilyName> {
    if workload.tasks.is_empty() || !workload.plans.families.is_empty() {
        return Vec::new();
    }
    let names = Family::all().into_iter().filter(|family| family.traits().is_on_request);
    let has_plans = |name: &FamilyName| {
        let mut asking = workload.clone();
        asking.plans.families = vec![*name];
        strategies(&asking, &[]).into_iter().any(|strategy| build(&asking, strategy).is_ok())
    };
    names.map(|family| family.name()).filter(has_plans).collect()
}
