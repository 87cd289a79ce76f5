//! The engine's speed against a bare floor: a binary heap and three first-in
//! first-out servers that know no rule of the hardware.
//!
//! `cargo bench --bench engine` prints criterion's figures and then a summary
//! with the ratios, the bytes and the time per operation over plan sizes. An
//! operation is a copy or a kernel: three to a chunk.

mod floor;
#[path = "../../tests/suite/machines.rs"]
#[allow(dead_code, reason = "the suite uses the rest of it")]
mod machines;
mod memory;
mod pipeline;

use criterion::{Criterion, criterion_group};
use floor::floor;
use hallway::cost::CompiledProgram;
use hallway::profile::Profile;
use hallway::search::candidates;
use hallway::simulate::Simulator;
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
        let program = CompiledProgram::new(&plan, &machine).expect("known");
        let mut simulator = Simulator::default();
        group.bench_function(name, |bencher| bencher.iter(|| simulator.makespan(&program)));
    }
    group.finish();
}

/// Through all sizes: each of them lasts seconds, and busy whiles come and go.
const ROUNDS: usize = 15;

/// A pipeline, and the shortest times that it took: what else a machine does only ever
/// adds to them.
struct Row<'p> {
    chunks: usize,
    /// Alone, and with a shared link.
    programs: [CompiledProgram<'p>; 2],
    simulators: [Simulator; 2],
    bytes: usize,
    floor: Duration,
    engine: [Duration; 2],
}

impl<'p> Row<'p> {
    fn new(chunks: usize, machines: &'p [Profile; 2]) -> Self {
        let plan = by_engine(chunks);
        let before = memory::allocated();
        let program = |machine| CompiledProgram::new(&plan, machine).expect("known");
        let programs = [program(&machines[0]), program(&machines[1])];
        let mut row = Self {
            chunks,
            programs,
            simulators: Default::default(),
            bytes: 0,
            floor: Duration::MAX,
            engine: [Duration::MAX; 2],
        };
        row.run();
        row.bytes = (memory::allocated() - before) / 2;
        row
    }

    /// As often as it takes for caches to know a small one again.
    fn round(&mut self) {
        (0..(CHUNKS / self.chunks).max(1)).for_each(|_| self.run());
    }

    fn run(&mut self) {
        self.floor = self.floor.min(timed(|| floor(self.chunks)));
        let simulators = self.simulators.iter_mut().zip(&self.programs);
        for (best, (simulator, program)) in self.engine.iter_mut().zip(simulators) {
            *best = (*best).min(timed(|| simulator.makespan(program)));
        }
    }

    fn print(&self) {
        let operations = 3.0 * self.chunks as f64;
        let nanos = |time: Duration| time.as_secs_f64() * 1e9 / operations;
        let (floor, [alone, shared]) = (nanos(self.floor), self.engine.map(nanos));
        println!(
            "| {} | {floor:.1} | {alone:.1} | {:.1} | {shared:.1} | {:.1} | {:.0} |",
            self.chunks,
            alone / floor,
            shared / floor,
            self.bytes as f64 / operations
        );
    }
}

fn timed<R>(run: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

/// In rounds through all sizes: a busy while of the machine falls on all of them.
fn summary() {
    let machines = [false, true].map(machine);
    let mut rows =
        [333, 3_333, 33_333, CHUNKS, 3_333_333].map(|chunks| Row::new(chunks, &machines));
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
    }
    println!("\n| chunks | floor, ns | engine, ns | ratio | shared link, ns | ratio | bytes |");
    println!("| --: | --: | --: | --: | --: | --: | --: |");
    rows.iter().for_each(Row::print);
    search();
}

/// 10,000 plans of 64 chunks, compiled and simulated on all threads.
fn search() {
    use rayon::prelude::*;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/stream-saxpy.toml");
    let workload = hallway::scenario::Workload::load(path.as_ref()).expect("a scenario");
    let plans = candidates(&workload).programs();
    let plans: Vec<_> = plans.into_iter().filter(|plan| plan.label.contains(" 64 ")).collect();
    let machine = machine(true);
    let start = Instant::now();
    let total: u64 = (0..10_000)
        .into_par_iter()
        .map_init(Simulator::default, |simulator, index| {
            let program =
                CompiledProgram::new(&plans[index % plans.len()], &machine).expect("known");
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
