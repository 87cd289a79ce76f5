//! Plans that a search found once, with another profile or in another version, by their names.

use super::candidates::{Candidates, Plan};
use crate::families::{Strategy, build};
use crate::scenario::Workload;
use std::collections::{BTreeSet, VecDeque};

/// The most strategies that are looked at on the way to those that are wanted: names of plans that
/// this version cannot build are never reached.
const MOST: usize = 50_000;

impl Candidates {
    /// Replaces the plans that a search added by those that were run: leaves out what is not known,
    /// and builds plans of these names again that steps of parameters lead to from the other plans.
    /// Plans that a schedule made are not built again, since they depend on prices.
    pub fn found_before(
        &mut self,
        workload: &Workload,
        mut names: BTreeSet<&str>,
        is_known: impl Fn(&Plan) -> bool,
    ) {
        let mut place = 0..;
        let listed = self.listed;
        self.plans.retain(|plan| place.next() < Some(listed) || is_known(plan));
        for plan in self.plans.iter().filter(|plan| is_known(plan)) {
            names.remove(plan.program.label.as_str());
        }
        let starts: Vec<Strategy> = self.plans.iter().filter_map(|plan| plan.strategy).collect();
        let can_change = |one: &&Strategy| !one.family.neighbours().is_empty();
        let families: BTreeSet<&str> =
            starts.iter().filter(can_change).map(|one| one.family.name().name()).collect();
        names.retain(|name| {
            let family = name.trim_start_matches("graph of ").split([' ', ',']).next();
            family.is_some_and(|family| families.contains(family))
        });
        let mut seen: BTreeSet<Strategy> = starts.iter().copied().collect();
        let mut to_do = VecDeque::from(starts);
        while let Some(at) = to_do.pop_front() {
            if names.is_empty() || seen.len() > MOST {
                break;
            }
            for family in at.family.neighbours() {
                let strategy = Strategy { family, ..at };
                if !seen.insert(strategy) {
                    continue;
                }
                to_do.push_back(strategy);
                // A plan that copies to and from no memory of the host is named without it.
                let [long, short] = [strategy.to_string(), strategy.without_memory()];
                if !names.contains(long.as_str()) && !names.contains(short.as_str()) {
                    continue;
                }
                let plan = build(workload, strategy);
                let plan = plan.map(|program| Plan { strategy: Some(strategy), program });
                if let Some(plan) = plan.ok().filter(&is_known) {
                    names.remove(plan.program.label.as_str());
                    self.plans.push(plan);
                }
            }
        }
    }
}
