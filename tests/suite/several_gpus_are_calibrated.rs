//! A fit of what is measured on several GPUs finds their true costs, and one GPU is
//! calibrated as if there were no others.

use super::kept::{recorded, saved};
use super::machines::machine;
use super::workloads::simple;
use hallway::calibrate::Schedule;
use hallway::families::{Each, Family, MultiGpu, Spread, Strategy, build};
use hallway::fit::fit;
use hallway::kernels::Kernel;
use hallway::machine::{DeviceId, Direction, HostMemory};
use hallway::profile::{OperationKind, Profile};
use hallway::program::{Call, Program};
use hallway::samples::{LONG_COPY, Measurement, Provenance, Quantity, Samples, Stop, TimedCall};
use hallway::scenario::FamilyName;
use hallway::search::candidates_over;
use hallway::simulate::simulate;
use hallway::units::{Bytes, Span};
use std::collections::BTreeSet;

fn two_gpus() -> Provenance {
    Provenance { devices: 2, peer_access: true, ..machine().machine }
}

/// Bandwidths of two H200s of one host, in bytes per nanosecond: one alone, both in one
/// direction, both in both directions, and between the two.
const ALONE: f64 = 55.0;
const TOGETHER: f64 = 103.0;
const BOTH_WAYS: f64 = 138.0;
/// Copies to the host get a larger share, so they finish first.
const UP_BESIDE_DOWN: f64 = 82.0;
const BETWEEN: f64 = 391.0;
const BETWEEN_BOTH_WAYS: f64 = 600.0;

/// The true time of a quantity, in nanoseconds.
fn truth(quantity: &Quantity) -> Option<f64> {
    let copy = |bytes: &Bytes, rate: f64| 2_600.0 + bytes.as_f64() / rate;
    let long = |link: &OperationKind| match link {
        OperationKind::PeerCopy => copy(&LONG_COPY, BETWEEN),
        OperationKind::Kernel => 20_000.0,
        OperationKind::CopyIn | OperationKind::CopyOut => copy(&LONG_COPY, ALONE),
    };
    Some(match quantity {
        Quantity::Call { call: TimedCall::PeerCopy } => 3_000.0,
        Quantity::Call { call: TimedCall::UseDevice } => 110.0,
        Quantity::Call { .. } => 2_000.0,
        Quantity::Chain { links, across: false } if links.len() == 1 => 2_700.0,
        // The call, the way to the device, the copy and the way back.
        Quantity::RoundTrip { links, long: false, .. } if links.len() == 1 => {
            2_000.0
                + 4_000.0
                + 2_700.0
                + 2_000.0
                + 1_000.0 * f64::from(links[0] == OperationKind::PeerCopy)
        }
        Quantity::RoundTrip { links, across, long: true } => {
            let handed = if links.len() > 1 { 1_500.0 + 500.0 * f64::from(*across) } else { 0.0 };
            8_000.0 + links.iter().map(long).sum::<f64>() + handed
        }
        Quantity::Crossing { .. } => 8_000.0 + 2.0 * 20_000.0 + 2_000.0 + 2_300.0,
        Quantity::Kernel { .. } => 20_000.0,
        Quantity::Copy { bytes, .. } => copy(bytes, ALONE),
        Quantity::PeerCopy { bytes, both: false, .. } => copy(bytes, BETWEEN),
        Quantity::PeerCopy { bytes, .. } => copy(bytes, BETWEEN_BOTH_WAYS / 2.0),
        Quantity::Concurrent { bytes, devices, both: false, .. } => {
            copy(bytes, TOGETHER / *devices as f64)
        }
        Quantity::Concurrent { direction, bytes, devices, .. } => {
            let all = bytes.as_f64() * *devices as f64;
            let up = all / UP_BESIDE_DOWN;
            let left = all - (BOTH_WAYS - UP_BESIDE_DOWN) * up;
            let alone = f64::from(*direction == Direction::HostToDevice) * left / TOGETHER;
            2_600.0 + up + alone
        }
        Quantity::On { device, of } => truth(of)? * (1.0 + 0.01 * device.0 as f64),
        _ => return None,
    })
}

/// The samples of a calibration of two GPUs, as far as the true times are known.
fn samples() -> Samples {
    let machine = two_gpus();
    let schedule = Schedule::new(&machine);
    let measured = |quantity: &Quantity| {
        let (count, ns) = (1, truth(quantity)?);
        let times = (0..7).map(|at| Span::from_nanos_f64(ns * (1.0 + 0.002 * f64::from(at - 3))));
        let (times, stop) = (times.collect(), Stop::Settled);
        Some(Measurement::new(quantity.clone(), count, times, stop))
    };
    let measurements = schedule.quantities().flatten().filter_map(measured).collect();
    Samples { measurements, ..Samples::none(machine) }
}

fn fitted() -> Profile {
    fit(&samples()).expect("there are samples")
}

#[track_caller]
fn assert_within(found: f64, truth: f64, share: f64) {
    assert!((found / truth - 1.0).abs() <= share, "{found} for {truth}");
}

#[test]
fn costs_of_several_gpus_come_back() {
    let profile = fitted();
    let found = &profile.multi_gpu;
    assert_within(found.use_device.expect("known").ns, 110.0, 0.001);
    assert_within(found.peer_copy.expect("known").ns, 3_000.0, 0.001);
    // It takes 1000 ns longer from end to end, and its call takes as much longer.
    assert_within(found.start_peer_copy.expect("known").ns, 4_000.0, 0.001);
    assert_within(found.crossing.expect("known").ns, 2_300.0, 0.001);
    for way in [[0, 1], [1, 0]].map(|way| way.map(DeviceId)) {
        for power in [12, 15, 20, 25, 28] {
            let bytes = Bytes::new(1 << power);
            let time = profile.peer_copy(way, bytes).expect("known").nanos_f64();
            assert_within(time, 2_600.0 + bytes.as_f64() / BETWEEN, 0.01);
        }
        assert_within(profile.between_peers(way).expect("known"), BETWEEN_BOTH_WAYS, 0.01);
    }
    for direction in Direction::BOTH {
        assert_within(profile.root(2, Some(direction)).expect("known"), TOGETHER, 0.01);
    }
    assert_within(profile.root(2, None).expect("known"), BOTH_WAYS, 0.01);
    assert!(profile.root(3, Some(Direction::HostToDevice)).is_err());
    profile.alike(2).expect("a difference of 1% is tolerated");
    for (from, to, across, truth) in [
        (OperationKind::CopyIn, OperationKind::PeerCopy, true, 2_000.0),
        (OperationKind::PeerCopy, OperationKind::Kernel, true, 2_000.0),
        (OperationKind::Kernel, OperationKind::PeerCopy, false, 1_500.0),
    ] {
        let price = profile.hand_over(from, to, across).expect("known").expect("a price");
        assert_within(price.first.ns, truth, 0.01);
        assert_within(price.queued.ns, truth, 0.01);
    }
}

#[test]
fn a_profile_of_several_gpus_is_read_as_it_was_written() {
    let profile = fitted();
    assert_eq!(saved(&profile), profile);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.toml");
    machine().save(&path).expect("writable");
    let one = std::fs::read_to_string(&path).expect("written");
    assert!(!one.contains("multi_gpu"), "{one}");
}

/// A simulation of copies on both GPUs takes as long as the measurement did.
#[test]
fn a_simulation_of_what_was_measured_takes_as_long() {
    let profile = fitted();
    let workload = simple(Kernel::Scale, 1 << 25, "");
    let family = Family::MultiGpu(MultiGpu {
        chunks: 2,
        devices: 2,
        each: Each::ByEngine,
        spread: Spread::Host,
    });
    let strategy = Strategy::plain(family, HostMemory::Pinned);
    let plan = build(&workload, strategy).expect("fits");
    // Only the copies to the GPUs, of 64 MiB each.
    let copies = plan.body.iter().filter(|call| {
        let way = call.crossing().map(|crossing| crossing.1);
        way == Some(Direction::HostToDevice) || matches!(call, Call::Use(_))
    });
    let plan = Program { body: copies.cloned().collect(), ..plan.clone() };
    let time = simulate(&plan, &profile).expect("known").makespan.nanos_f64();
    // From the first call to the end: one copy starts some microseconds after the other.
    assert_within(time, f64::from(1 << 26) / (TOGETHER / 2.0) + 10_000.0, 0.01);
}

#[test]
fn one_gpu_is_measured_as_if_there_were_no_others() {
    let one = Schedule::new(&machine().machine);
    let is_of_several = |quantity: &&Quantity| {
        let words = quantity.to_string();
        words.contains("GPU ") || words.contains("GPUs") || words.contains("P2P")
    };
    assert_eq!(one.quantities().flatten().filter(is_of_several).count(), 0);
    let two = Schedule::new(&two_gpus());
    let different = |schedule: &Schedule| {
        let quantities: BTreeSet<String> =
            schedule.quantities().map(|probe| probe[0].to_string()).collect();
        quantities.len()
    };
    let more = different(&two) - different(&one);
    // Two passes take at most a twentieth of a second for each, apart from those that
    // scatter.
    assert!(more > 20 && more <= 60, "{more} probes more");
    // Copies that go through the host are measured, but no prediction uses them.
    let through_host = Schedule::new(&Provenance { peer_access: false, ..two_gpus() });
    let is_direct = |quantity: &&Quantity| match quantity {
        Quantity::PeerCopy { direct, .. } => *direct,
        other => other.to_string().contains("P2P"),
    };
    assert_eq!(through_host.quantities().flatten().filter(is_direct).count(), 0);
    assert!(through_host.quantities().count() > one.quantities().count());
    let three = Schedule::new(&Provenance { devices: 3, ..two_gpus() });
    let counts: Vec<usize> = three
        .quantities()
        .flatten()
        .filter_map(|quantity| match quantity {
            Quantity::Concurrent { devices, .. } => Some(*devices),
            _ => None,
        })
        .collect();
    assert!(counts.contains(&2) && counts.contains(&3));
}

#[test]
fn samples_of_several_gpus_are_written_and_found_again() {
    let machine = two_gpus();
    let schedule = Schedule::new(&machine);
    let times = vec![Span::from_micros(5); 3];
    let measured =
        |quantity: &Quantity| Measurement::new(quantity.clone(), 1, times.clone(), Stop::Settled);
    let measurements: Vec<_> = schedule.quantities().flatten().map(measured).collect();
    let samples = Samples { measurements, ..Samples::none(machine.clone()) };
    let read = recorded(&samples);
    assert_eq!(read, samples);
    assert_eq!(
        schedule.done(&read.measurements).map(|(_, lines)| lines),
        Ok(read.measurements.len())
    );
    // Samples of two GPUs cannot be resumed on a machine that shows fewer.
    let here = Provenance { devices: 1, peer_access: false, ..machine };
    assert!(read.machine.differences(&here).iter().any(|text| text.contains("devices: was 2")));
    let telling = Schedule::telling(&read.machine);
    let is_between = |quantity: &&Quantity| matches!(quantity, Quantity::PeerCopy { .. });
    assert!(telling.quantities().flatten().any(|quantity| is_between(&quantity)));
}

/// Plans over more GPUs than were calibrated are no candidates. If a scenario asks for
/// one by name, it is refused.
#[test]
fn the_search_knows_how_many_gpus_there_are() {
    let mut workload = simple(Kernel::Scale, 1 << 20, "");
    let over_several = |gpus: &[usize]| {
        let plans = candidates_over(&workload, gpus).programs();
        plans.into_iter().map(|plan| plan.devices()).filter(|&devices| devices > 1).max()
    };
    assert_eq!(over_several(&machine().gpu_counts()), None);
    assert_eq!(over_several(&fitted().gpu_counts()), Some(2));
    assert_eq!(over_several(&[2, 4]), Some(4));
    workload.plans.families = vec![FamilyName::MultiGpu];
    let found = candidates_over(&workload, &[]);
    assert!(found.plans.is_empty());
    assert!(found.refused[0].reason.contains("several GPUs must be calibrated together first"));
    // Only a buffer that every chunk reads whole can come from another GPU.
    let plans = candidates_over(&workload, &[2]).programs();
    let goes_between = |plan: &&Program| plan.label.contains("peers");
    assert!(!plans.is_empty() && !plans.iter().any(|plan| goes_between(&plan)));
}

#[test]
fn a_table_says_what_several_gpus_cost() {
    let head = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n\
                path,memory,bytes,concurrent,gpus,gpu,from,to,call,operation,after,streams,kernel,\
                elements,seconds\n";
    let read = |rows: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        std::fs::write(&path, format!("{head}{rows}\n")).expect("written");
        Samples::load(&path).map_err(|error| error.to_string())
    };
    let rows = "P2P,,1 MiB,,,,0,1,,,,,,,5e-6\n\
                P2P,,16 MiB,,,,0,1,,,,,,,50e-6\n\
                P2P,,16 MiB,P2P,,,1,0,,,,,,,60e-6\n\
                H2D,pinned,1 MiB,,2,,,,,,,,,,30e-6\n\
                H2D,pinned,2 MiB,,2,,,,,,,,,,60e-6\n\
                D2H,pinned,1 MiB,H2D,2,,,,,,,,,,40e-6\n\
                H2D,pinned,1 MiB,,,1,,,,,,,,,20e-6\n\
                H2D,pinned,1 MiB,,,0,,,,,,,,,20e-6\n\
                ,,,,,1,,,,,,,scale,1024,5e-6\n\
                ,,,,,,,,peer-copy,,,,,,3e-6\n\
                ,,,,,,,,use-device,,,,,,1e-7\n\
                ,,,,,,,,,kernel,kernel,gpus,,,2e-6";
    let samples = read(rows).expect("right");
    assert_eq!((samples.machine.devices, samples.machine.peer_access), (2, true));
    let profile = fit(&samples).expect("there are rows");
    assert_eq!(profile.crossing().map(f64::round), Ok(2_000.0));
    assert_eq!(profile.root(2, Some(Direction::HostToDevice)).map(f64::round), Ok(70.0));
    let way = [DeviceId(0), DeviceId(1)];
    assert_eq!(profile.peer_copy(way, Bytes::mib(1)), Ok(Span::from_micros(5)));
    for (row, words) in [
        ("P2P,,1 MiB,,,,0,0,,,,,,,5e-6", "write a different"),
        ("P2P,,1 MiB,,,,0,,,,,,,,5e-6", "column `to`: empty;"),
        ("P2P,,1 MiB,,,,0,x,,,,,,,5e-6", "`: `x` is not a GPU number, such as 0 or 1"),
        (
            "P2P,pinned,1 MiB,,,,0,1,,,,,,,5e-6",
            "column `memory`: does not apply to this row, which has `path` P2P",
        ),
        (
            "H2D,pinned,1 MiB,,,,0,1,,,,,,,5e-6",
            "column `from`: does not apply to this row, which has `path` H2D",
        ),
        (
            "H2D,pinned,1 MiB,,1,,,,,,,,,,5e-6",
            "column `gpus`: write the number of GPUs that copy at once, from 2 to",
        ),
        (
            "H2D,pageable,1 MiB,,2,,,,,,,,,,5e-6",
            "column `gpus`: does not apply to this row, which has `path` H2D",
        ),
        (
            ",,,,,,,,,copy-in,kernel,gpus,,,5e-6",
            "column `streams`: `gpus` is only for a `kernel` after a",
        ),
    ] {
        let error = read(row).expect_err(row);
        assert!(error.contains(words), "{row}: {error}");
    }
}
