//! A machine that nobody measured, with numbers that are easy to add up.
//!
//! Everything that belongs to a size is a straight line in *elements* of four
//! bytes, so that one element is one nanosecond wherever possible.

use hallway::kernels::{Kernel, Variant};
use hallway::plan::Direction;
use hallway::profile::{
    CacheModel, CallCosts, Contention, CopyModel, Curve, Estimate, HandOver, KernelModel,
    Latencies, LinkModel, MemoryCosts, OperationKind, Profile, StagingModel, TwinModel, Warmth,
};
use hallway::samples::Provenance;
use hallway::units::{Bandwidth, Bytes};

/// Scatter of every model: wide enough for seeds to differ.
const SCATTER: f64 = 0.05;

const MIB: f64 = (1 << 20) as f64;

/// Copies that the other direction does not slow.
pub const FREE: Contention = Contention { per_copy_ns: 0.0, per_byte_ns: 0.0 };

pub fn machine() -> Profile {
    Profile {
        schema_version: 1,
        machine: provenance(),
        calls: CallCosts {
            launch: time(2_000.0),
            copy_in: time(1_000.0),
            copy_out: time(1_500.0),
            clear: time(2_000.0),
            record: time(100.0),
            wait: time(200.0),
            synchronize: time(300.0),
        },
        latency: Latencies {
            start_kernel: time(4_000.0),
            start_copy_in: time(3_000.0),
            start_copy_out: time(5_000.0),
            wake_host: time(6_000.0),
            kernel_gap: time(1_000.0),
        },
        // An element a nanosecond; beside the other direction, copies take twice
        // as long down and four times as long up.
        link: LinkModel {
            down_bytes_per_second: bytes_per_nanosecond(4.0),
            up_bytes_per_second: bytes_per_nanosecond(4.0),
            down_shared: Contention { per_copy_ns: 1_000.0, per_byte_ns: 0.25 },
            up_shared: Contention { per_copy_ns: 3_000.0, per_byte_ns: 0.75 },
            scatter: SCATTER,
            down_switch: constant(0.0),
            up_switch: constant(0.0),
        },
        hand_overs: hand_overs(),
        polling: Vec::new(),
        copies: Direction::BOTH
            .map(|direction| CopyModel { direction, time: per_element_of_bytes(1_000.0, 1.0) })
            .to_vec(),
        staging: staging(),
        kernels: Kernel::ALL.map(kernel).to_vec(),
        twins: Kernel::ALL.into_iter().flat_map(twins).collect(),
        // Copies begin to miss the caches at 1 MiB, twins at 2 MiB; a MiB later
        // they miss always.
        caches: CacheModel {
            staging_misses: vec![(MIB, 0.0), (2.0 * MIB, 1.0)],
            twin_misses: vec![(2.0 * MIB, 0.0), (3.0 * MIB, 1.0)],
            shared_bytes: Bytes::mib(1),
        },
        memory: MemoryCosts {
            device_allocate: constant(10_000.0),
            pinned_allocate: per_element_of_bytes(100_000.0, 1.0),
            register: per_element_of_bytes(50_000.0, 1.0),
            first_touch: per_element_of_bytes(0.0, 3.0),
            first_touch_team: per_element_of_bytes(0.0, 1.0),
            renew: constant(20_000.0),
        },
    }
}

/// The machine with its link and its copies at `times` the bandwidth.
pub fn machine_with_bandwidth(times: f64) -> Profile {
    let mut machine = machine();
    let link = &mut machine.link;
    for rate in [&mut link.down_bytes_per_second, &mut link.up_bytes_per_second] {
        *rate = Bandwidth::from_bytes_per_second(rate.bytes_per_second() * times);
    }
    for model in &mut machine.copies {
        model.time = per_element_of_bytes(1_000.0, 1.0 / times);
    }
    machine
}

fn provenance() -> Provenance {
    Provenance {
        gpu: "Round Numbers 1000".to_owned(),
        compute_capability: "9.0".to_owned(),
        multiprocessors: 100,
        device_memory_bytes: Bytes::mib(80 << 10),
        copy_engines: 2,
        link: "32.0 GT/s PCIe x16".to_owned(),
        driver: "0.0".to_owned(),
        cuda: "13.0".to_owned(),
        cpu: "Round CPU".to_owned(),
        cpu_threads: 2,
        numa_nodes: 1,
        unix_time: 1_000_000_000,
        hallway_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
    }
}

fn hand_overs() -> Vec<HandOver> {
    use OperationKind::{CopyIn, CopyOut, Kernel};
    let hand_over = |from, to, across_streams, ns| {
        let time = time(ns);
        HandOver { from, to, across_streams, first: time, queued: time }
    };
    vec![
        hand_over(CopyIn, Kernel, false, 300.0),
        hand_over(CopyIn, Kernel, true, 700.0),
        hand_over(Kernel, CopyOut, false, 400.0),
        hand_over(Kernel, CopyOut, true, 900.0),
    ]
}

fn staging() -> Vec<StagingModel> {
    let model = |direction, cold, returns, complete, slope| StagingModel {
        direction,
        cold,
        until_return: per_element_of_bytes(returns, slope),
        until_complete: per_element_of_bytes(complete, slope),
    };
    vec![
        model(Direction::HostToDevice, false, 8_000.0, 10_000.0, 1.0),
        model(Direction::HostToDevice, true, 8_000.0, 10_000.0, 2.0),
        model(Direction::DeviceToHost, false, 12_000.0, 12_000.0, 2.0),
        model(Direction::DeviceToHost, true, 12_000.0, 12_000.0, 3.0),
    ]
}

/// After the gap of 1000, a nanosecond an element, but 2000 at least: so 2000
/// elements fill the device, and 1000 take up half of it.
fn kernel(kernel: Kernel) -> KernelModel {
    let knots = vec![(1.0, 3_000.0), (2_000.0, 3_000.0), (1_002_000.0, 1_003_000.0)];
    KernelModel { variant: variant(kernel), time: Curve { knots, scatter: SCATTER } }
}

/// One, two or five nanoseconds an element, by where the data is found.
fn twins(kernel: Kernel) -> [TwinModel; 3] {
    let model = |(found, slope)| {
        let knots = vec![(0.0, 1_000.0), (1e6, 1_000.0 + slope * 1e6)];
        TwinModel { variant: variant(kernel), found, time: Curve { knots, scatter: SCATTER } }
    };
    [(Warmth::Same, 1.0), (Warmth::Shared, 2.0), (Warmth::Memory, 5.0)].map(model)
}

fn variant(kernel: Kernel) -> Variant {
    Variant { kernel, extent: if kernel == Kernel::Polynomial { 16 } else { 0 } }
}

fn time(ns: f64) -> Estimate {
    Estimate { ns, scatter: SCATTER }
}

fn bytes_per_nanosecond(rate: f64) -> Bandwidth {
    Bandwidth::from_bytes_per_second(rate * 1e9)
}

/// A curve over bytes that rises by `slope` with every element of four bytes.
fn per_element_of_bytes(start: f64, slope: f64) -> Curve {
    Curve { knots: vec![(0.0, start), (4e6, start + slope * 1e6)], scatter: SCATTER }
}

fn constant(ns: f64) -> Curve {
    Curve { knots: vec![(0.0, ns)], scatter: SCATTER }
}
