//! Random task graphs whose optimum is found by going through all schedules: on the CPU and a GPU,
//! with a link each way.

use super::super::workloads::read;
use super::exact::{Instance, Item, Task};
use super::free_machine::free_machine;
use hallway::scenario::Workload;
use hallway::search::task_bound;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

/// A graph as the solver has it, and as a workload.
pub struct Case {
    pub instance: Instance,
    pub workload: Workload,
    /// In nanoseconds.
    pub optimum: u64,
}

/// So many graphs, the same each time.
pub fn cases(count: u64) -> Vec<Case> {
    (0..count).map(case).collect()
}

fn case(seed: u64) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (tasks, inputs) = (random.random_range(3..=10), random.random_range(1..=3));
    let task = |at: usize, random: &mut ChaCha8Rng| {
        let gpu = 1_000 * random.random_range(2..30);
        let reads = (0..random.random_range(1..=2)).map(|_| {
            // What was made before, or what is there.
            let pick = random.random_range(0..at + inputs);
            if pick < at { pick } else { tasks + pick - at }
        });
        let mut reads: Vec<usize> = reads.collect();
        reads.sort_unstable();
        reads.dedup();
        Task { gpu, cpu: gpu * random.random_range(5..40) / 10, reads }
    };
    let tasks: Vec<Task> = (0..tasks).map(|at| task(at, &mut random)).collect();
    let mut item = |at: usize| {
        let is_read = tasks.iter().any(|task| task.reads.contains(&at));
        let goes_home = at < tasks.len() && (!is_read || random.random_bool(0.2));
        Item { copy: 1_000 * random.random_range(1..20), goes_home }
    };
    let items: Vec<Item> = (0..tasks.len() + inputs).map(&mut item).collect();
    let instance = Instance { tasks, items };
    let workload = read(&text(&instance));
    let optimum = instance.optimum(u64::MAX);
    Case { instance, workload, optimum }
}

/// The graph as a scenario. An element crosses in a nanosecond.
fn text(instance: &Instance) -> String {
    let Instance { tasks, items } = instance;
    let is_used = |at: usize| at < tasks.len() || tasks.iter().any(|one| one.reads.contains(&at));
    let mut text = "schema_version = 1\nname = \"graph\"\nquestion = \"?\"\n".to_owned();
    for (at, item) in items.iter().enumerate().filter(|(at, _)| is_used(*at)) {
        let home = if at >= tasks.len() || item.goes_home {
            "home = \"host\"\nhost = { memory = \"pinned\" }"
        } else {
            "home = \"scratch\""
        };
        let _ = writeln!(
            text,
            "[[buffer]]\nname = \"b{at}\"\ntype = \"f32\"\nelements = {}\n{home}",
            item.copy
        );
    }
    for (at, task) in tasks.iter().enumerate() {
        let reads: Vec<String> = task.reads.iter().map(|item| format!("b{item}")).collect();
        let _ = writeln!(
            text,
            "[[kernel]]\nname = \"k{at}\"\nstated = {{ fixed = \"{} ns\" }}\n\
             cpu = {{ stated = {{ fixed = \"{} ns\" }} }}\n\
             [[task]]\nname = \"t{at}\"\nkernel = \"k{at}\"\nreads = {reads:?}\n\
             writes = [\"b{at}\"]",
            task.gpu, task.cpu
        );
    }
    text
}

#[test]
fn no_bound_is_above_the_optimum_and_on_average_it_is_near() {
    let machine = free_machine(1);
    let mut gaps = Vec::new();
    for (seed, Case { workload, optimum, instance }) in cases(120).iter().enumerate() {
        let bound = task_bound(workload, &machine).expect("all is known");
        assert!(bound.nanos() <= *optimum, "{seed}: {bound} above {optimum} ns: {instance:?}");
        gaps.push(1.0 - bound.nanos_f64() / *optimum as f64);
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!(mean <= 0.15, "{mean}");
}
