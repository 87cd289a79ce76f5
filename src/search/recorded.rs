//! Plans that a search found once, with another profile or in another version, by their names.

use super::candidates::{Candidates, Plan};
use crate::families::{Strategy, build};
use crate::scenario::Workload;
use std::collections::{BTreeSet, VecDeque};

/// The most strategies that are named on the way to those that are wanted.
const MOST: usize = 50_000;

impl Candidates {
    /// Makes the plans that depend on a profile those that `is_known` to somebody: others are left
    /// out, and those of these names are built if steps of their parameters lead to them from a
    /// plan that does not depend on one. Plans that a schedule made are not built again.
    pub fn found_before(
        &mut self,
        workload: &Workload,
        names: BTreeSet<&str>,
        is_known: impl Fn(&Plan) -> bool,
    ) {
        let mut place = 0..;
        let listed = self.listed;
        self.plans.retain(|plan| place.next() < Some(listed) || is_known(plan));
        let mut wanted = names;
        for plan in self.plans.iter().filter(|plan| is_known(plan)) {
            wanted.remove(plan.program.label.as_str());
        }
        let starts = self.plans.iter().filter_map(|plan| plan.strategy).collect();
        for strategy in reached(starts, wanted) {
            let program = build(workload, strategy);
            let plan = program.map(|program| Plan { strategy: Some(strategy), program });
            self.plans.extend(plan.into_iter().filter(|plan| is_known(plan)));
        }
    }
}

/// The strategies with such names to which steps of parameters lead, the nearest first.
fn reached(starts: Vec<Strategy>, mut wanted: BTreeSet<&str>) -> Vec<Strategy> {
    let mut seen: BTreeSet<Strategy> = starts.iter().copied().collect();
    let (mut to_do, mut found) = (VecDeque::from(starts), Vec::new());
    while let Some(at) = to_do.pop_front() {
        if wanted.is_empty() || seen.len() > MOST {
            break;
        }
        for family in at.family.neighbours() {
            let next = Strategy { family, ..at };
            if !seen.insert(next) {
                continue;
            }
            // A plan that copies to and from no memory of the host is named without it.
            let names = [next.to_string(), next.without_memory()];
            let is_wanted = names.iter().any(|name| wanted.remove(name.as_str()));
            found.extend(is_wanted.then_some(next));
            to_do.push_back(next);
        }
    }
    found
}
