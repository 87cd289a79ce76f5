//! The engine's speed against a bare floor: a binary heap and three first-in
//! first-out servers that know no rule of the hardware.
//!
//! `cargo bench --bench engine` prints criterion's figures and then a summary
//! with the ratios, the bytes and the time per operation over plan sizes. An
//! operation is a copy or a kernel: three to a chunk.

mod floor;
#[path = "../../tests/suite/machines.rs"]
#[allow(dead_code)]
mod machines;
mod memory;
mod pipeline;

use criterion::{Criterion, criterion_group};
use floor::floor;
use hallway::profile::Profile;
use hallway::search::candidates;
use hallway::simulate::{Program, Simulator};
use pipeline::by_engine;
use std::hint::black_box;
use std::time::{Duration, Instant};

const CHUNKS: usize = 333_333;

/// Copies both ways that do not slow each other, or that always do.
fn machine(shared: bool) -> Profile {
    let mut machine = machines::machine();
    if !shared {
        (machine.link.down_shared, machine.link.up_shared) = (machines::FREE, machines::FREE);
    }
    machine
}

fn engines(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a million operations");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    group.bench_function("bare floor", |bencher| bencher.iter(|| floor(black_box(CHUNKS))));
    let plan = by_engine(CHUNKS);
    for (name, shared) in [("engine", false), ("engine, shared link", true)] {
        let machine = machine(shared);
        let program = Program::new(&plan, &machine).expect("known");
        let mut simulator = Simulator::default();
        group.bench_function(name, |bencher| bencher.iter(|| simulator.makespan(&program)));
    }
    group.finish();
}

/// The shortest of several runs: what else a machine does only ever adds time.
fn best(mut run: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..7).map(|_| ()).map(time).min().expect("several")
}

fn nanos_each(time: Duration, operations: usize) -> f64 {
    time.as_secs_f64() * 1e9 / operations as f64
}

fn summary() {
    println!("\n| chunks | floor, ns | engine, ns | ratio | shared link, ns | ratio | bytes |");
    println!("| --: | --: | --: | --: | --: | --: | --: |");
    for chunks in [333, 3_333, 33_333, CHUNKS, 3_333_333] {
        let operations = 3 * chunks;
        let floor = nanos_each(best(|| _ = black_box(floor(chunks))), operations);
        let plan = by_engine(chunks);
        let mut bytes = 0;
        let [alone, shared] = [false, true].map(|shared| {
            let machine = machine(shared);
            let before = memory::allocated();
            let program = Program::new(&plan, &machine).expect("known");
            let mut simulator = Simulator::default();
            let time = best(|| _ = black_box(simulator.makespan(&program)));
            bytes = memory::allocated() - before;
            nanos_each(time, operations)
        });
        println!(
            "| {chunks} | {floor:.1} | {alone:.1} | {:.1} | {shared:.1} | {:.1} | {:.0} |",
            alone / floor,
            shared / floor,
            bytes as f64 / operations as f64
        );
    }
    search();
}

/// 10,000 plans of 64 chunks, compiled and simulated on all threads.
fn search() {
    use rayon::prelude::*;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/stream-saxpy.toml");
    let workload = hallway::scenario::Workload::load(path.as_ref()).expect("a scenario");
    let plans = candidates(&workload).plans;
    let plans: Vec<_> =
        plans.into_iter().filter(|plan| plan.strategy.to_string().contains(" 64 ")).collect();
    let machine = machine(true);
    let start = Instant::now();
    let total: u64 = (0..10_000)
        .into_par_iter()
        .map_init(Simulator::default, |simulator, index| {
            let program = Program::new(&plans[index % plans.len()], &machine).expect("known");
            simulator.makespan(&program).nanos()
        })
        .sum();
    let (time, threads) = (start.elapsed(), rayon::current_num_threads());
    black_box(total);
    println!("\n10,000 plans of 64 chunks on {threads} threads: {:.2} s", time.as_secs_f64());
}

criterion_group!(benches, engines);

fn main() {
    // `cargo test` runs benches once to see that they work; the summary is long.
    benches();
    if std::env::args().any(|argument| argument == "--bench") {
        summary();
    }
    Criterion::default().configure_from_args().final_summary();
}
