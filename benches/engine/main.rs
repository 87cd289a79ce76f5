//! The engine's speed against a bare floor: a binary heap and three first-in
//! first-out servers that know no rule of the hardware. The engine runs on a bare profile, for
//! which few rules apply, and on a calibrated one.
//!
//! `cargo bench --bench engine` prints the ratios, the bytes and the time per
//! operation over plan sizes. An operation is a copy or a kernel: three to a
//! chunk.

mod floor;
#[path = "../../tests/suite/machines.rs"]
#[allow(dead_code, reason = "the suite uses the rest of it")]
mod machines;
mod memory;
mod pipeline;

use floor::floor;
use hallway::cost::CompiledProgram;
use hallway::profile::Profile;
use hallway::program::Program;
use hallway::search::candidates;
use hallway::simulate::forecast;
use pipeline::by_engine;
use std::hint::black_box;
use std::time::{Duration, Instant};

const CHUNKS: usize = 333_333;

/// A machine without the rules that depend on what else is under way, and one that was calibrated.
fn machines() -> [Profile; 2] {
    let mut bare = machines::machine();
    (bare.link.down_shared, bare.link.up_shared) = (machines::FREE, machines::FREE);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/h200/profile.toml");
    [bare, Profile::load(path.as_ref()).expect("a calibrated profile")]
}

/// Through all sizes: each of them lasts seconds, and busy whiles come and go.
const ROUNDS: usize = 6;
/// How often each pipeline is compiled.
const COMPILED: usize = 3;
/// How many draws are timed together.
const DRAWS: usize = 8;

/// A pipeline, and the shortest times that it took: what else a machine does only ever
/// adds to them.
struct Row<'p> {
    chunks: usize,
    floor: Duration,
    /// On each of the machines.
    engines: [Engine<'p>; 2],
}

/// The engine with a program on one machine.
struct Engine<'p> {
    program: CompiledProgram<'p>,
    /// The most bytes that the program and its simulation take.
    bytes: usize,
    /// The shortest times of compiling the program, of a draw of an estimate, for which only its
    /// prices are new, and of simulating it.
    compiling: Duration,
    drawing: Duration,
    shortest: Duration,
}

impl<'p> Engine<'p> {
    fn new(plan: &Program, machine: &'p Profile) -> Self {
        let compile = || CompiledProgram::new(plan, machine).expect("known");
        let compiling = (0..COMPILED).map(|_| timed(compile)).min().expect("at least one");
        let before = memory::allocated();
        let program = compile();
        let bytes = memory::most(|| program.makespan()) - before;
        let drawn = |draws| timed(|| forecast(plan, machine, draws, 1).expect("known"));
        let draws = || drawn(2 + DRAWS).saturating_sub(drawn(2)) / DRAWS as u32;
        let drawing = (0..COMPILED).map(|_| draws()).min().expect("at least one");
        Self { program, bytes, compiling, drawing, shortest: Duration::MAX }
    }

    fn run(&mut self) {
        let time = timed(|| self.program.makespan());
        self.shortest = self.shortest.min(time);
    }
}

impl<'p> Row<'p> {
    fn new(chunks: usize, machines: &'p [Profile; 2]) -> Self {
        let plan = by_engine(chunks);
        let engines = machines.each_ref().map(|machine| Engine::new(&plan, machine));
        Self { chunks, floor: Duration::MAX, engines }
    }

    /// As often as it takes for caches to know a small one again.
    fn round(&mut self) {
        for _ in 0..(CHUNKS / self.chunks).max(1) {
            self.floor = self.floor.min(timed(|| floor(self.chunks)));
            self.engines.iter_mut().for_each(Engine::run);
        }
    }

    fn print(&self) {
        let operations = 3.0 * self.chunks as f64;
        let nanos = |time: Duration| time.as_secs_f64() * 1e9 / operations;
        let floor = nanos(self.floor);
        print!("| {} | {floor:.1} |", self.chunks);
        for engine in &self.engines {
            let (time, bytes) = (nanos(engine.shortest), engine.bytes as f64 / operations);
            let [compiling, drawing] = [engine.compiling, engine.drawing].map(nanos);
            let ratio = time / floor;
            print!(" {time:.1} | {ratio:.1} | {bytes:.0} | {compiling:.0} | {drawing:.0} |");
        }
        println!();
    }
}

fn timed<R>(run: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

/// In rounds through all sizes: a busy while of the machine falls on all of them.
fn summary(machines: &[Profile; 2]) {
    let mut rows = [333, 3_333, 33_333, CHUNKS].map(|chunks| Row::new(chunks, machines));
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::round);
    }
    println!("\nns and bytes an operation, on the bare and on the calibrated profile:\n");
    let of_machine = |name| format!(" {name} | ratio | bytes | compiling | a draw |");
    println!("| chunks | floor |{}{}", of_machine("bare"), of_machine("calibrated"));
    println!("{}|", "| --: ".repeat(12));
    rows.iter().for_each(Row::print);
    search(&machines[1]);
}

/// 10,000 plans of 64 chunks, compiled for a machine and simulated on all threads.
fn search(machine: &Profile) {
    use rayon::prelude::*;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/stream-saxpy.toml");
    let workload = hallway::scenario::Workload::load(path.as_ref()).expect("a scenario");
    let plans = candidates(&workload).programs();
    let plans: Vec<_> = plans.into_iter().filter(|plan| plan.label.contains(" 64 ")).collect();
    let start = Instant::now();
    let total: u64 = (0..10_000)
        .into_par_iter()
        .map(|index| {
            let program = CompiledProgram::new(&plans[index % plans.len()], machine);
            program.expect("known").makespan().nanos()
        })
        .sum();
    let (time, threads) = (start.elapsed(), rayon::current_num_threads());
    black_box(total);
    println!("\n10,000 plans of 64 chunks on {threads} threads: {:.2} s", time.as_secs_f64());
}

fn main() {
    let machines = machines();
    // `cargo test --benches` only asks whether it works.
    if std::env::args().any(|argument| argument == "--bench") {
        summary(&machines);
    } else {
        let mut row = Row::new(333, &machines);
        row.round();
        row.print();
    }
}
