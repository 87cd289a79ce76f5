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
}

/// Nanoseconds of a unit of time.
pub const UNIT: f64 = 1e6;

pub fn cases() -> Vec<Case> {
    let path = repository().join("tests/task-graphs/optima.csv");
    let text = std::fs::read_to_string(path).expect("committed");
    let case = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse().expect("a number");
        Case { file: fields[0].to_owned(), processors: number(2) as usize, optimum: number(3) }
    };
    text.lines().skip(1).map(case).collect()
}

/// The graph as a workload of kernels of stated times, which need 64 KiB between them at most. Of
/// so many blocks each or, with none, as large as a GPU.
pub fn workload(file: &str, blocks: Option<u64>) -> Workload {
    let path = repository().join("tests/task-graphs").join(file);
    let text = std::fs::read_to_string(path).expect("committed");
    let lines = text.lines().skip(1).take_while(|line| !line.starts_with('#'));
    let numbers = |line: &str| {
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    let rows: Vec<Vec<u64>> = lines.map(numbers).collect();
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
