//! Fitting samples of a machine whose costs are known gives these costs back, whatever else the
//! machine did during the measurement.

mod both_ways;
mod disturbed;
mod graphs;
mod other_paths;
mod spelled_out;
mod spikes;
mod trips;

use super::intervals_hold_what_they_promise::normal;
use super::machines::machine;
use hallway::fit::fit;
use hallway::kernels::{Kernel, Variant};
use hallway::machine::Direction;
use hallway::profile::{DeviceLocality, HostLocality, OperationKind, Profile, Reuse};
use hallway::samples::{CYCLES, Measurement, Quantity, Samples, Stop, TimedCall};
use hallway::simulate::forecast;
use hallway::stats::{interpolate, median, modes};
use hallway::units::{Bytes, Span};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const DOWN: Direction = Direction::HostToDevice;

/// A clock that scatters, and is badly wrong now and then.
struct Clock {
    random: ChaCha8Rng,
    /// Relative standard deviation of the times that it shows.
    scatter: f64,
    /// The share of times that are a thousand times too long.
    wild: f64,
}

impl Clock {
    fn new(scatter: f64, wild: f64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(7), scatter, wild }
    }

    /// The time that it shows for `ns` nanoseconds.
    fn time(&mut self, ns: f64) -> Span {
        let normal = normal(&mut self.random);
        let wild = if self.random.random::<f64>() < self.wild { 1_000.0 } else { 1.0 };
        Span::from_nanos_f64((ns * (1.0 + self.scatter * normal) * wild).max(1.0))
    }

    fn times(&mut self, ns: f64, samples: usize) -> Vec<Span> {
        (0..samples).map(|_| self.time(ns)).collect()
    }
}

fn measured(quantity: Quantity, count: u64, times: Vec<Span>) -> Measurement {
    Measurement::new(quantity, count, times, Stop::Settled)
}

fn fitted(measurements: Vec<Measurement>) -> Profile {
    fit(&Samples { measurements, ..Samples::none(machine().machine) }).expect("there are samples")
}

fn copy(bytes: u64) -> Quantity {
    Quantity::Copy { direction: DOWN, bytes: Bytes::new(bytes) }
}

/// What a copy to the device is fitted to take.
#[track_caller]
fn copied(profile: &Profile, bytes: u64) -> f64 {
    profile.copy(DOWN, Bytes::new(bytes)).expect("known").nanos_f64()
}

#[track_caller]
fn assert_within(found: f64, truth: f64, share: f64, what: impl std::fmt::Display) {
    let error = found / truth - 1.0;
    assert!(error.abs() <= share, "{what}: {found} for {truth}, {:.2}% off", 100.0 * error);
}

/// A copy's time over bytes: a fixed cost, a slow stretch, a step in the rate, and from there the
/// rate of the link.
const TRUTH: [(f64, f64); 4] =
    [(4.0, 2_600.0), (65_536.0, 4_200.0), (524_288.0, 14_000.0), (268_435_456.0, 4_900_000.0)];

/// Chains of 2 and of 26 copies, each with 10 us for starting and ending.
fn copies(clock: &mut Clock, samples: usize) -> Vec<Measurement> {
    let sizes = (2..=28).flat_map(|power| [1_u64 << power, 3 << (power - 1)]);
    let mut all = Vec::new();
    for bytes in sizes.filter(|&bytes| bytes <= 1 << 28) {
        for count in [2, 26] {
            let ns = 10_000.0 + count as f64 * interpolate(&TRUTH, bytes as f64);
            all.push(measured(copy(bytes), count, clock.times(ns, samples)));
        }
    }
    all
}

#[test]
fn one_time_in_five_a_thousand_times_too_long_moves_little() {
    let profile = fitted(copies(&mut Clock::new(0.02, 0.2), 101));
    for power in 2..=28 {
        let bytes = 1_u64 << power;
        assert_within(copied(&profile, bytes), interpolate(&TRUTH, bytes as f64), 0.025, bytes);
    }
    let rate = profile.link.down_bytes_per_second.expect("known").bytes_per_second();
    let truth = 1e9 * (TRUTH[3].0 - TRUTH[2].0) / (TRUTH[3].1 - TRUTH[2].1);
    assert_within(rate, truth, 0.025, "the rate");
}

#[test]
fn five_sizes_are_enough_where_the_machine_is_straight() {
    let truth = |bytes: f64| 3_000.0 + bytes / 50.0;
    let mut clock = Clock::new(0.01, 0.0);
    let mut all = Vec::new();
    for bytes in [4_u64 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20] {
        // Each size is measured five times, and a sixth time while the machine did something else.
        let mut times = clock.times(truth(bytes as f64), 5);
        times.insert(2, Span::from_millis(100));
        all.push(measured(copy(bytes), 1, times));
    }
    let profile = fitted(all);
    for bytes in [1_u64 << 10, 8 << 10, 100_000, 1 << 20, 5_000_000, 64 << 20, 1 << 30] {
        assert_within(copied(&profile, bytes), truth(bytes as f64), 0.03, bytes);
    }
}

#[test]
fn a_wild_size_that_was_measured_once_is_belied_by_its_neighbours() {
    let sizes = [4_u64 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];
    let truth = |bytes: u64| 3_000.0 + bytes as f64 / 50.0;
    // If the first size is too short, it looks like a lower fixed cost, so that case is left out.
    for (wild, ns) in [(0, 1e8), (1, 1e8), (2, 1e8), (3, 1e8), (1, 1.0), (2, 1.0), (3, 1.0)] {
        let once = sizes.into_iter().enumerate().map(|(at, bytes)| {
            let ns = if at == wild { ns } else { truth(bytes) };
            measured(copy(bytes), 1, vec![Span::from_nanos_f64(ns)])
        });
        let profile = fitted(once.collect());
        for bytes in sizes {
            if wild > 0 || bytes > sizes[0] {
                let what = format!("{wild} {ns} {bytes}");
                assert_within(copied(&profile, bytes), truth(bytes), 0.001, what);
            }
        }
    }
}

/// A chain of pairs that takes one of two times, as the device happens to take turns.
fn bimodal(clock: &mut Clock, [usual, rare]: [f64; 2], share: f64, samples: usize) -> Vec<Span> {
    let count = (share * samples as f64).round() as usize;
    let time = |at: usize| if at * count % samples < count { rare } else { usual };
    (0..samples).map(|at| clock.time(time(at))).collect()
}

#[test]
fn both_modes_of_a_quantity_are_kept_with_their_shares() {
    let call = Quantity::Call { call: TimedCall::Launch };
    let mut clock = Clock::new(0.03, 0.02);
    for (times, share, samples) in [
        ([8_200.0, 16_400.0], 0.3, 40),
        ([8_200.0, 16_400.0], 0.3, 201),
        ([16_400.0, 8_200.0], 0.2, 201),
        ([5_000.0, 7_500.0], 0.45, 101),
    ] {
        let samples = bimodal(&mut clock, times, share, samples);
        let found = fitted(vec![measured(call.clone(), 1, samples)]).calls.launch.expect("known");
        let other = found.other.unwrap_or_else(|| panic!("{times:?}: one mode"));
        assert_within(found.ns, times[0], 0.02, "the usual");
        assert_within(other.ns, times[1], 0.03, "the other");
        assert!((other.share - share).abs() < 0.05, "{other:?}, not {share}");
        assert!(found.scatter < 0.06, "{found:?}");
    }
}

#[test]
fn a_bimodal_chain_gives_a_bimodal_hand_over() {
    let mut clock = Clock::new(0.01, 0.0);
    let mut all = Vec::new();
    for link in [OperationKind::CopyIn, OperationKind::CopyOut, OperationKind::Kernel] {
        let alone = Quantity::Chain { links: vec![link], across: false };
        all.push(measured(alone, 1, clock.times(2_000.0, 50)));
    }
    for links in CYCLES {
        // A hand-over takes 1 us or 3 us.
        let times = bimodal(&mut clock, [9_000.0, 15_000.0], 0.25, 100);
        all.push(measured(Quantity::Chain { links: links.to_vec(), across: false }, 1, times));
    }
    let (from, to) = (OperationKind::CopyIn, OperationKind::Kernel);
    all.push(measured(Quantity::HandOver { from, to, across: false }, 1, clock.times(9e3, 9)));
    let profile = fitted(all);
    let found = profile.hand_over(OperationKind::CopyIn, OperationKind::Kernel, false);
    let queued = found.expect("known").expect("a price").queued;
    let other = queued.other.expect("two ways");
    assert_within(queued.ns, 1_000.0, 0.05, "the usual");
    assert_within(other.ns, 3_000.0, 0.05, "the other");
    assert!((other.share - 0.25).abs() < 0.02, "{other:?}");
}

#[test]
fn draws_choose_modes_by_their_shares() {
    use hallway::machine::StreamId;
    use hallway::program::Call;
    let mut profile = machine();
    let launch = profile.calls.synchronize.as_mut().expect("known");
    (launch.ns, launch.scatter) = (1_000.0, 0.0);
    launch.other = Some(hallway::profile::Other { ns: 50_000.0, share: 0.25 });
    let workload = super::workloads::committed(1 << 12).swap_remove(0);
    let mut plan = hallway::search::candidates(&workload).programs().swap_remove(1);
    plan.streams.truncate(1);
    plan.body = vec![Call::Synchronize { stream: StreamId(0) }];
    let draws = forecast(&plan, &profile, 1_000, 1).expect("known").draws;
    let rare = draws.iter().filter(|draw| **draw == Span::from_micros(50)).count();
    let usual = draws.iter().filter(|draw| **draw == Span::from_micros(1)).count();
    assert_eq!(rare + usual, 1_000);
    assert!((200..300).contains(&rare), "{rare} in 1000");
}

#[test]
fn one_mode_is_not_taken_for_two() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut draw = |one: fn(&mut ChaCha8Rng) -> f64| -> Vec<f64> {
        (0..60).map(|_| one(&mut random)).collect()
    };
    for _ in 0..300 {
        let around = draw(|random| 100.0 + 8.0 * normal(random));
        assert_eq!(modes(&around), None);
        assert_eq!(modes(&draw(|random| 100.0 + 100.0 * random.random::<f64>())), None);
        let tailed = draw(|random| 100.0 - 30.0 * random.random::<f64>().max(1e-9).ln());
        assert_eq!(modes(&tailed), None);
        // A single wild time is an accident, not a mode.
        let mut spiked = around;
        spiked[7] = 1e6;
        assert_eq!(modes(&spiked), None);
    }
    assert_eq!(modes(&[5.0; 40]), None);
    assert_eq!(modes(&[]), None);
    let two = modes(&[vec![5.0; 30], vec![9.0; 10]].concat()).expect("two");
    assert_eq!((two[0].center, two[0].share, two[1].center, two[1].share), (5.0, 0.75, 9.0, 0.25));
}

#[test]
fn what_is_left_of_a_time_is_never_negative() {
    let mut clock = Clock::new(0.2, 0.0);
    let mut all = Vec::new();
    let mut add = |quantity, ns| all.push(measured(quantity, 1, clock.times(ns, 9)));
    // The round trips take less than their parts, as they do on no machine.
    for call in [TimedCall::Launch, TimedCall::CopyIn, TimedCall::CopyOut, TimedCall::Synchronize] {
        add(Quantity::Call { call }, 5_000.0);
    }
    for call in [TimedCall::LaunchAndRecord, TimedCall::WaitAndLaunch] {
        add(Quantity::Call { call }, 4_000.0);
    }
    for link in [OperationKind::CopyIn, OperationKind::CopyOut, OperationKind::Kernel] {
        add(Quantity::Chain { links: vec![link], across: false }, 3_000.0);
        add(Quantity::RoundTrip { links: vec![link], across: false, long: false }, 8_000.0);
    }
    let profile = fitted(all);
    for kind in [OperationKind::CopyIn, OperationKind::CopyOut, OperationKind::Kernel] {
        assert_eq!(profile.start(kind), Ok(Span::ZERO));
    }
    let calls = &profile.calls;
    assert_eq!([calls.record, calls.wait].map(|cost| cost.map(|c| c.ns)), [Some(0.0); 2]);
}

/// Copies of growing size are measured in two visits each. Large ones take 4% longer.
#[test]
fn a_curve_follows_its_points() {
    let step = |bytes: f64| (3_000.0 + bytes / 50.0) * if bytes > 1e6 { 1.04 } else { 1.0 };
    let mut clock = Clock::new(0.001, 0.0);
    let sizes = || (6..=26).flat_map(|power| [1_u64 << power, 3 << (power - 1)]);
    let one = |bytes: u64| measured(copy(bytes), 1_000, clock.times(1e3 * step(bytes as f64), 10));
    let profile = fitted(sizes().chain(sizes()).map(one).collect());
    for bytes in [1_u64 << 12, 1 << 18, 3 << 18, 1 << 20, 1 << 22, 1 << 26] {
        assert_within(copied(&profile, bytes), step(bytes as f64), 0.01, bytes);
    }
}
