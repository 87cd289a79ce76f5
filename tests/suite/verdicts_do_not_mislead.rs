//! A verdict is right for whoever acts on it: each test here is of an answer that misled.

mod few_runs;
mod fresh_memory;
mod host_thread;
mod names;
mod pinning;
mod simplest;
mod ties;
mod what_was_tried;

use super::predicted::{PROFILE, scenario};
use super::said;
use super::workloads::{self, floats, head, read};
use hallway::findings::{AssessedPlan, Assessment};
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates, rank};

fn ranked(workload: &Workload) -> Ranking {
    rank(candidates(workload), &PROFILE, 40, 1)
}

fn assessed(workload: &Workload, runs: u64) -> Assessment {
    Assessment::new(workload, runs, &ranked(workload), None)
}

/// One task that reads `x` and writes `y`.
fn task(kernel: &str, [x, y]: [&str; 2], elements: u64, more: &str) -> Workload {
    let [x, y] = [("x", x), ("y", y)]
        .map(|(name, home)| floats([name], elements, &format!("home = {home}")));
    read(&(head("w", "") + &x + &y + &workloads::task("t", kernel, &["x"], "y", more)))
}

#[track_caller]
fn plan<'a>(assessment: &'a Assessment, name: &str) -> &'a AssessedPlan {
    let plans = &assessment.plans;
    let names = || plans.iter().map(|plan| plan.plan.as_str()).collect::<Vec<_>>();
    plans.iter().find(|plan| plan.plan == name).unwrap_or_else(|| panic!("{name}: {:?}", names()))
}
