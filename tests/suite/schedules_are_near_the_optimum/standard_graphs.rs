//! Graphs of the Standard Task Graph Set with published optima (Tobita and Kasahara, "A standard
//! task graph set for fair evaluation of multiprocessor scheduling algorithms", 2002), for 2, 4 and
//! 8 equal processors: GPUs, each of which one kernel fills.

use super::super::predicted::repository;
use super::super::workloads::read;
use super::free_machine::free_machine;
use hallway::scenario::Workload;
use hallway::search::task_bound;
use std::fmt::Write;

/// A row of the table: a graph, how many processors, and the optimum in its units of time.
pub struct Case {
    pub file: String,
    pub processors: usize,
    pub optimum: u64,
    /// What a list by the longest remaining path takes.
    pub listed: u64,
}

/// Nanoseconds of a unit of time.
pub const UNIT: f64 = 1e6;

pub fn cases() -> Vec<Case> {
    let path = repository().join("tests/task-graphs/optima.csv");
    let text = std::fs::read_to_string(path).expect("committed");
    let case = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse().expect("a number");
        let processors = number(2) as usize;
        Case { file: fields[0].to_owned(), processors, optimum: number(3), listed: number(5) }
    };
    text.lines().skip(1).map(case).collect()
}

/// The lines of a graph's tasks: number, time, how many tasks come before it, and which.
fn rows(file: &str) -> Vec<Vec<u64>> {
    let path = repository().join("tests/task-graphs").join(file);
    let text = std::fs::read_to_string(path).expect("committed");
    let lines = text.lines().skip(1).take_while(|line| !line.starts_with('#'));
    let numbers = |line: &str| {
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    lines.map(numbers).collect()
}

/// What equal processors take for a graph if each, when it is free, begins the task with the
/// longest way to the end, and what no schedule goes below: the longest way of all, or all work
/// shared evenly. Both are in units of time.
pub fn listed(file: &str, processors: usize) -> [u64; 2] {
    let rows = rows(file);
    let before = |task: usize| rows[task][3..].iter().map(|&at| at as usize);
    let mut ways: Vec<u64> = rows.iter().map(|row| row[1]).collect();
    for task in (0..rows.len()).rev() {
        for one in before(task) {
            ways[one] = ways[one].max(rows[one][1] + ways[task]);
        }
    }
    let mut ends: Vec<Option<u64>> = vec![None; rows.len()];
    let mut free = vec![0; processors];
    let mut now = 0;
    while ends.contains(&None) {
        let is_done = |one: usize| ends[one].is_some_and(|end| end <= now);
        let ready = |&task: &usize| ends[task].is_none() && before(task).all(is_done);
        let first = (0..rows.len()).filter(ready).max_by_key(|&task| ways[task]);
        match (first, free.iter_mut().find(|free| **free <= now)) {
            (Some(task), Some(free)) => {
                *free = now + rows[task][1];
                ends[task] = Some(*free);
            }
            _ => now = free.iter().copied().filter(|&end| end > now).min().expect("some run"),
        }
    }
    let work: u64 = rows.iter().map(|row| row[1]).sum();
    let longest = ways.into_iter().max().unwrap_or(0);
    let least = longest.max(work.div_ceil(processors as u64));
    [ends.into_iter().flatten().max().unwrap_or(0), least]
}

/// The graph as a workload of kernels of stated times, which need 64 KiB between them at most. Of
/// so many blocks each or, with none, as large as a GPU.
pub fn workload(file: &str, blocks: Option<u64>) -> Workload {
    let rows = rows(file);
    // The dummies at both ends take no time.
    let is_task = |task: usize| rows[task][1] > 0;
    let before =
        |task: usize| rows[task][3..].iter().map(|&at| at as usize).filter(|&at| is_task(at));
    let grid = blocks.map(|blocks| format!("grid = [{blocks}]\nblock = [1024]\n"));
    let grid = grid.unwrap_or_default();
    let mut tables = "schema_version = 1\nname = \"graph\"\nquestion = \"?\"\n".to_owned();
    let mut tasks = String::new();
    for task in (0..rows.len()).filter(|&task| is_task(task)) {
        let is_read =
            (0..rows.len()).any(|other| is_task(other) && before(other).any(|one| one == task));
        let home = if is_read { "scratch" } else { "host" };
        let reads: Vec<String> = before(task).map(|one| format!("b{one}")).collect();
        let _ = write!(
            tables,
            "[[buffer]]\nname = \"b{task}\"\ntype = \"f32\"\nelements = 1\nhome = \"{home}\"\n\
             [[kernel]]\nname = \"k{task}\"\n{grid}stated = {{ fixed = \"{} ms\" }}\n",
            rows[task][1]
        );
        let _ = write!(
            tasks,
            "[[task]]\nname = \"t{task}\"\nkernel = \"k{task}\"\nreads = {reads:?}\n\
             writes = [\"b{task}\"]\n"
        );
    }
    read(&(tables + &tasks))
}

#[test]
fn no_bound_is_above_a_published_optimum() {
    let mut gaps = Vec::new();
    for case in cases() {
        let bound = task_bound(&workload(&case.file, None), &free_machine(case.processors));
        let bound = bound.expect("all is known").nanos_f64() / UNIT;
        let optimum = case.optimum as f64;
        // A result of four bytes that is copied home takes a nanosecond.
        assert!(bound <= optimum + 1e-4, "{}: {bound} above {optimum}", case.file);
        gaps.push(1.0 - bound / optimum);
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!(gaps.len() >= 50 && mean <= 0.15, "{mean}");
}
