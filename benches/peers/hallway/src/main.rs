//! The pipeline as a hallway plan: three streams, joined by events.
//!
//! Arguments: chunks, then the three service times in nanoseconds. Prints the
//! makespan in nanoseconds and the seconds of the fastest run.

use hallway::kernels::{Arguments, Kernel};
use hallway::plan::{
    Allocation, AllocationId, Call, Direction, EventId, Family, Place, Plan, Slice, Step, Strategy,
    StreamId,
};
use hallway::profile::{Curve, Profile};
use hallway::scenario::HostMemory;
use hallway::simulate::{Program, Simulator};
use hallway::units::Bytes;
use std::time::Instant;
use toml::Value;

const RUNS: usize = 5;
const ELEMENTS: u64 = 1 << 18;
const CALIBRATED: &str = include_str!("../../../../calibration/h200/profile.toml");

fn main() {
    let arguments = std::env::args().skip(1);
    let numbers: Vec<u64> = arguments.map(|text| text.parse().expect("a whole number")).collect();
    let [chunks, copy_in, kernel, copy_out] = numbers[..] else {
        panic!("four numbers: chunks and three service times");
    };
    let plan = plan(usize::try_from(chunks).expect("a size"));
    let profile = profile([copy_in, kernel, copy_out]);
    let program = Program::new(&plan, &profile).expect("everything is calibrated");
    let mut simulator = Simulator::default();
    let (mut makespan, mut best) = (0, f64::INFINITY);
    for _ in 0..RUNS {
        let start = Instant::now();
        makespan = simulator.makespan(&program).nanos();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{makespan} {best}");
}

/// Chunk by chunk: copied in on one stream, worked on by a second, copied out
/// on a third, as in the family `by-engine`.
fn plan(chunks: usize) -> Plan {
    let length = Bytes::of_f32(ELEMENTS);
    let places = [Place::Host(HostMemory::Pinned), Place::Device, Place::Host(HostMemory::Pinned)];
    let allocations = ["input", "chunks", "output"].into_iter().zip(places).map(|(name, place)| {
        let bytes = Bytes::new(length.get() * chunks as u64);
        Allocation { name: name.to_owned(), place, bytes, holds: None }
    });
    let [inward, compute, outward] = [0, 1, 2].map(StreamId);
    let mut body = Vec::with_capacity(7 * chunks + 1);
    for chunk in 0..chunks {
        let offset = Bytes::new(length.get() * chunk as u64);
        let [input, here, output] =
            [0, 1, 2].map(|id| Slice { allocation: AllocationId(id), offset, length });
        let [arrived, computed] = [EventId(2 * chunk), EventId(2 * chunk + 1)];
        let step = Step {
            kernel: Kernel::Scale,
            arguments: Arguments::default(),
            inputs: vec![here],
            output: here,
            workspace: None,
            lead: 0,
        };
        let (down, up) = (Direction::HostToDevice, Direction::DeviceToHost);
        body.extend([
            Call::Copy { stream: inward, direction: down, from: input, to: here },
            Call::Record { stream: inward, event: arrived },
            Call::Wait { stream: compute, event: arrived },
            Call::Launch { stream: compute, step },
            Call::Record { stream: compute, event: computed },
            Call::Wait { stream: outward, event: computed },
            Call::Copy { stream: outward, direction: up, from: here, to: output },
        ]);
    }
    body.push(Call::Synchronize { stream: outward });
    let family = Family::ByEngine { chunks: chunks as u64 };
    Plan {
        strategy: Strategy { family, memory: HostMemory::Pinned },
        allocations: allocations.collect(),
        streams: 3,
        events: 2 * chunks,
        setup: Vec::new(),
        body,
    }
}

/// A machine on which a copy in, a kernel and a copy out of a chunk take the
/// given times, and nothing else takes any.
fn profile([copy_in, kernel, copy_out]: [u64; 3]) -> Profile {
    let mut profile: Value = toml::from_str(CALIBRATED).expect("the profile is TOML");
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
