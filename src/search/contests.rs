//! Which plans compete: those that leave the same results.

use crate::families::{Cpu, Family, Resident, Strategy, build};
use crate::machine::HostMemory;
use crate::program::{Program, Results};
use crate::scenario::{Limits, Tasks, Workload};

/// The questions in a scenario: one for each result that its programs and tasks leave. Only plans
/// that leave the same result are compared with one another.
///
/// What a program leaves is told by its data flow, unless the scenario names it with `result`.
/// Plans for tasks leave what the tasks compute, and so does a program with `result = "tasks"`. A
/// scenario with one result is returned as it is. Each of several has a [`part`](Workload::part),
/// named after its `result` or its first program.
pub fn contests(workload: &Workload) -> Vec<Workload> {
    let mut found: Vec<Contest> = Vec::new();
    if !workload.tasks.is_empty() {
        let leaves = of_tasks(workload).map_or(Leaves::Unknown, Leaves::ByDataFlow);
        found.push(Contest { leaves, has_tasks: true, programs: Vec::new() });
    }
    for program in &workload.programs {
        let leaves = match workload.results.get(&program.label) {
            Some(name) if name == TASKS && found.first().is_some_and(|one| one.has_tasks) => {
                found[0].programs.push(program.clone());
                continue;
            }
            Some(name) => Leaves::Named(name.clone()),
            None => Leaves::ByDataFlow(program.results()),
        };
        match found.iter_mut().find(|contest| contest.leaves == leaves) {
            Some(contest) => contest.programs.push(program.clone()),
            None => {
                found.push(Contest { leaves, has_tasks: false, programs: vec![program.clone()] })
            }
        }
    }
    if found.len() < 2 {
        return vec![workload.clone()];
    }
    found.into_iter().map(|contest| contest.within(workload)).collect()
}

/// The name of what the scenario's tasks leave.
const TASKS: &str = "tasks";

/// What plans that compete leave behind.
#[derive(PartialEq)]
enum Leaves {
    Named(String),
    ByDataFlow(Results),
    Unknown,
}

struct Contest {
    leaves: Leaves,
    has_tasks: bool,
    programs: Vec<Program>,
}

impl Contest {
    fn within(self, workload: &Workload) -> Workload {
        let Self { leaves, has_tasks, programs } = self;
        let first = || programs.first().map(|program| program.label.clone());
        let part = match leaves {
            _ if has_tasks => TASKS.to_owned(),
            Leaves::Named(name) => name,
            _ => first().unwrap_or_default(),
        };
        let tasks = if has_tasks { workload.tasks.clone() } else { Tasks::default() };
        let own_cpu = workload.own_cpu.clone().filter(|_| has_tasks);
        Workload { programs, tasks, own_cpu, part: Some(part), ..workload.clone() }
    }
}

/// What the tasks leave, told by a plan for them: it is the same for every plan.
fn of_tasks(workload: &Workload) -> Option<Results> {
    let unlimited = Workload { limits: Limits::default(), ..workload.clone() };
    let plain = |family: Family| Strategy::plain(family, HostMemory::Pageable);
    let families = [Resident.into(), Cpu.into()];
    let program = families.into_iter().find_map(|one| build(&unlimited, plain(one)).ok());
    program.map(|program| program.results())
}
