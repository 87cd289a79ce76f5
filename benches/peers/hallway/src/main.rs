//! The pipeline as a hallway plan: three streams, joined by events.
//!
//! Arguments: chunks, then the three service times in nanoseconds, or
//! `calibrated` for all costs of the calibrated profile. Prints the makespan in
//! nanoseconds and the seconds of the fastest run.

#[path = "../../../engine/pipeline.rs"]
mod pipeline;

use hallway::machine::Direction;
use hallway::profile::{Curve, Profile};
use hallway::cost::CompiledProgram;
use hallway::units::Bytes;
use pipeline::{ELEMENTS, by_engine};
use std::time::Instant;
use toml::Value;

const RUNS: usize = 5;
const CALIBRATED: &str = include_str!("../../../../calibration/h200/profile.toml");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().expect("a whole number");
    let (chunks, profile) = match &arguments[..] {
        [chunks, word] if word == "calibrated" => (chunks, calibrated()),
        [chunks, services @ ..] => {
            let services = services.iter().map(number).collect::<Vec<u64>>();
            (chunks, services_only(services.try_into().expect("three service times")))
        }
        [] => panic!("a number of chunks, and three service times or `calibrated`"),
    };
    let plan = by_engine(usize::try_from(number(chunks)).expect("a size"));
    let program = CompiledProgram::new(&plan, &profile).expect("everything is calibrated");
    let (mut makespan, mut best) = (0, f64::INFINITY);
    for _ in 0..RUNS {
        let start = Instant::now();
        makespan = program.makespan().nanos();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{makespan} {best}");
}

fn calibrated() -> Profile {
    toml::from_str(CALIBRATED).expect("the profile is one")
}

/// A machine on which a copy in, a kernel and a copy out of a chunk take the
/// given times, and nothing else takes any.
fn services_only([copy_in, kernel, copy_out]: [u64; 3]) -> Profile {
    let mut profile: Value = toml::from_str(CALIBRATED).expect("the profile is TOML");
    // How far off things are is not a time that anything takes.
    for uncertainty in ["accuracy", "intervals"] {
        profile.as_table_mut().expect("a profile is a table").remove(uncertainty);
    }
    // Nor does it take any for engines that poll for work all the time.
    let latency = profile.get_mut("latency").and_then(Value::as_table_mut);
    latency.expect("a profile has latencies").remove("semaphore_polling");
    // Nor does one stream of kernels wait beside others: how many times longer copies take
    // then is no time.
    let link = profile.get_mut("link").and_then(Value::as_table_mut);
    link.expect("a profile has a link").remove("refetches");
    clear(&mut profile);
    let mut profile: Profile = profile.try_into().expect("the profile is of this version");
    let line = |size: u64, time: u64| Curve {
        knots: vec![(0.0, 0.0), (size as f64, time as f64)],
        scatter: 0.0,
    };
    for model in &mut profile.copies {
        let time = if model.direction == Direction::HostToDevice { copy_in } else { copy_out };
        model.time = line(Bytes::of_f32(ELEMENTS).get(), time);
    }
    for model in &mut profile.kernels {
        model.time = line(ELEMENTS, kernel);
    }
    profile
}

/// Sets every time in a profile to nothing. It goes by the names in the file,
/// not by the types, so that it holds for costs that profiles will have later;
/// should one escape it, the makespan shows that.
fn clear(value: &mut Value) {
    match value {
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                match key.as_str() {
                    "knots" => *value = Value::from(vec![vec![0.0, 0.0]]),
                    key if key == "ns" || key.ends_with("_ns") => *value = Value::Float(0.0),
                    _ => clear(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clear),
        _ => {}
    }
}
