//! Fits where others on the host disturb the measurement, during some visits or during all.

use super::*;
use hallway::profile::Warmth;
use hallway::samples::{Handing, MOST_OF_ONE_CORE, ONE_TEAM, ONE_THREAD, Taker};
use rand::seq::SliceRandom;

/// Nanoseconds of `count` copies one after the other, at 55 GB/s.
fn row(count: u64, bytes: u64) -> f64 {
    2_000.0 + count as f64 * bytes as f64 / 55.0
}

/// Others use the link now and then, for a whole visit. Each size has one visit without them.
#[test]
fn disturbed_visits_move_nothing() {
    let mut clock = Clock::new(0.002, 0.0);
    let mut all = Vec::new();
    let sizes: Vec<u64> = (20..=28).map(|power| 1 << power).collect();
    for visit in 0..2 {
        for (place, &bytes) in sizes.iter().enumerate() {
            // Every second size is disturbed in the first visit, and the others in the second.
            let slower = if place % 2 == visit { 1.3 } else { 1.0 };
            for count in [2, 26] {
                let ns = slower * (10_000.0 + count as f64 * bytes as f64 / 55.0);
                all.push(measured(copy(bytes), count, clock.times(ns, 7)));
            }
            let call = Quantity::Call { call: TimedCall::Launch };
            all.push(measured(call, 1, clock.times(slower * 3_000.0, 7)));
        }
    }
    let profile = fitted(all);
    for bytes in sizes {
        assert_within(copied(&profile, bytes), bytes as f64 / 55.0, 0.01, bytes);
    }
    // For the time of a host thread both visits count, the slower one too.
    let launch = profile.calls.launch.expect("measured");
    assert!([launch.ns, launch.other.map_or(0.0, |other| other.ns)].iter().any(|ns| *ns > 3_500.0));
}

/// In one visit somebody came during the longer row, and in another during the shorter one. The
/// difference of two such rows is the time of no state of the link, and may imply a rate beyond
/// what it carries.
#[test]
fn rows_are_only_compared_with_those_of_their_own_visit() {
    let mut clock = Clock::new(0.0005, 0.0);
    let sizes: Vec<u64> = (20..=23).map(|power| 1 << power).collect();
    let found = |slower: &[[f64; 2]], clock: &mut Clock| {
        let mut all = Vec::new();
        for [short, long] in slower {
            for &bytes in &sizes {
                all.push(measured(copy(bytes), 2, clock.times(short * row(2, bytes), 5)));
                all.push(measured(copy(bytes), 4, clock.times(long * row(4, bytes), 5)));
            }
        }
        fitted(all)
    };
    // In the first case one visit was undisturbed, in the second none was.
    let cases: [&[[f64; 2]]; 2] = [&[[1.0, 1.0], [1.025, 1.05]], &[[1.0, 1.05], [1.07, 1.0]]];
    for slower in cases {
        let profile = found(slower, &mut clock);
        for &bytes in &sizes {
            assert_within(copied(&profile, bytes), bytes as f64 / 55.0, 0.005, bytes);
        }
    }
}

/// During the whole calibration others take up to a twentieth of the link, at every second copy.
/// The fit still finds what the link carries without them.
#[test]
fn others_on_the_link_take_nothing_from_what_it_carries() {
    let mut clock = Clock::new(0.001, 0.0);
    let mut all = Vec::new();
    let sizes: Vec<u64> = (20..=28).map(|power| 1 << power).collect();
    for _ in 0..6 {
        for &bytes in &sizes {
            for count in [2, 4] {
                let of_others =
                    |at: u32| if at.is_multiple_of(2) { 1.0 } else { 1.0 + f64::from(at) / 200.0 };
                let times = (0..8).map(|at| clock.time(of_others(at) * row(count, bytes)));
                all.push(measured(copy(bytes), count, times.collect()));
            }
        }
    }
    let rate = fitted(all).link.down_bytes_per_second.expect("measured").bytes_per_second();
    assert_within(rate, 55e9, 0.005, "rate");
}

/// Copies of one size shared the link with a neighbour in every visit; smaller and larger copies
/// did not.
#[test]
fn a_size_that_was_never_left_alone_is_told_by_others() {
    for hindered in [1 << 17, 1 << 21, 1 << 24] {
        let mut clock = Clock::new(0.002, 0.0);
        let mut all = Vec::new();
        let sizes = (16..=28).map(|power| 1 << power);
        let row = |count: u64, bytes: u64| row(count, bytes) + 1_400.0 * count as f64;
        for bytes in sizes.clone().chain(sizes.clone()) {
            let slower = if bytes == hindered { 1.5 } else { 1.0 };
            for count in [2, 26] {
                let times = clock.times(slower * row(count, bytes), 7);
                all.push(measured(copy(bytes), count, times));
            }
        }
        let profile = fitted(all);
        for bytes in sizes {
            let truth = 1_400.0 + bytes as f64 / 55.0;
            assert_within(copied(&profile, bytes), truth, 0.02, format!("{bytes} of {hindered}"));
        }
    }
}

/// A step over two sizes belongs to the link itself, and so does any step in a table.
#[test]
fn steps_of_the_link_itself_stay() {
    let mut clock = Clock::new(0.002, 0.0);
    let mut found = |slow: &[u64], stop| {
        let one = |power: u32| {
            let bytes = 1 << power;
            let slower = if slow.contains(&bytes) { 1.5 } else { 1.0 };
            let times = clock.times(slower * (1_400.0 + bytes as f64 / 55.0), 7);
            Measurement { stop, ..measured(copy(bytes), 1, times) }
        };
        fitted((16..=28).map(one).collect()).copy(DOWN, Bytes::mib(2)).expect("measured")
    };
    let truth = 1_400.0 + Bytes::mib(2).as_f64() / 55.0;
    let both = [1 << 21, 1 << 22];
    assert_within(found(&both[..1], Stop::Settled).nanos_f64(), truth, 0.02, "one size");
    assert_within(found(&both, Stop::Settled).nanos_f64(), 1.5 * truth, 0.02, "two sizes");
    assert_within(found(&both[..1], Stop::Elsewhere).nanos_f64(), 1.5 * truth, 0.02, "a table");
}

/// Kernels take a fourteenth longer in half of the streams. How many samples happened to come from
/// these must not decide what a kernel takes.
#[test]
fn streams_that_lie_far_off_count_with_their_share() {
    let found = |far: usize| {
        let mut clock = Clock::new(0.005, 0.0);
        let mut all = Vec::new();
        for _ in 0..2 {
            for count in [2, 34] {
                let near = clock.times(3_000.0 + 1_450.0 * count as f64, 48 - far);
                let far = clock.times(3_000.0 + 1_560.0 * count as f64, far);
                let quantity = Quantity::Kernel { variant: SCALE, elements: 1_024 };
                all.push(measured(quantity, count, [near, far].concat()));
            }
        }
        let arguments = SCALE.arguments();
        let found = DeviceLocality::default();
        fitted(all).kernel(Kernel::Scale, &arguments, 1_024, &found).expect("measured").ns
    };
    for far in [20, 24, 28] {
        assert_within(found(far), 1_505.0, 0.01, far);
    }
}

const SCALE: Variant = Variant { kernel: Kernel::Scale, extent: 0 };

/// At one size, every copy behind the eighth stands still for a millisecond, in all visits. This
/// was seen on one host, with copies of 16 MiB.
#[test]
fn rows_that_were_held_up_are_not_believed() {
    let mut clock = Clock::new(0.002, 0.0);
    let mut all = Vec::new();
    let sizes: Vec<u64> = (20..=28).map(|power| 1 << power).collect();
    for &bytes in sizes.iter().chain(&sizes) {
        for count in [2, 11] {
            let held_up = if bytes == 1 << 24 { count.max(8) - 8 } else { 0 };
            let ns = row(count, bytes) + 1_058e3 * held_up as f64;
            all.push(measured(copy(bytes), count, clock.times(ns, 7)));
        }
    }
    let profile = fitted(all);
    for bytes in sizes {
        assert_within(copied(&profile, bytes), bytes as f64 / 55.0, 0.01, bytes);
    }
}

/// Whether pageable copies of 64 MiB stay in the last-level cache changes from visit to visit.
/// Copies of 128 MiB never stay there, though a straight line from 32 to 256 MiB would be within
/// the scatter of the visits.
#[test]
fn what_is_in_no_cache_is_known_where_its_neighbour_is_unsure() {
    let mut clock = Clock::new(0.002, 0.0);
    let mut all = Vec::new();
    let mut add = |mib, around, gigabytes_per_second: f64| {
        let (bytes, footprint) = (Bytes::mib(mib), Bytes::mib(around));
        for complete in [false, true] {
            let direction = Direction::HostToDevice;
            let quantity = Quantity::Staged { direction, bytes, footprint, complete };
            let times = clock.times(bytes.as_f64() / gigabytes_per_second, 7);
            all.push(measured(quantity, 1, times));
        }
    };
    for of_64 in [16.2, 9.7] {
        for (mib, rate) in [(32, 16.1), (64, of_64), (128, 9.0), (256, 8.8)] {
            add(mib, mib, rate);
        }
        for mib in [16, 32, 64] {
            add(mib, 1024, 9.1);
        }
    }
    let caches = fitted(all).caches;
    let misses = |mib| caches.staging(Bytes::mib(mib)).expect("measured");
    assert_within(misses(32) + 1.0, 1.0, 0.01, "32 MiB");
    assert!((0.2..0.8).contains(&misses(64)), "{}", misses(64));
    assert_within(misses(128), 1.0, 0.05, "128 MiB");
}

/// A core keeps up to 2 MiB. A peak below that is noise, and is averaged out.
#[test]
fn a_core_misses_ever_more_and_what_stands_out_is_noise() {
    let (variant, elements) = ONE_THREAD;
    let mut clock = Clock::new(0.002, 0.0);
    let truth = [(32, 100.0), (256, 160.0), (512, 130.0), (1024, 130.0), (8192, 1_100.0)];
    let twin = |(kib, ns)| {
        let footprint = Bytes::kib(kib);
        measured(Quantity::Twin { variant, elements, footprint }, 1, clock.times(ns, 40))
    };
    let caches = fitted(truth.map(twin).to_vec()).caches;
    for (kib, share) in [(32, 0.0), (256, 0.04), (512, 0.04), (1024, 0.04), (8192, 1.0)] {
        let found = caches.own(Bytes::kib(kib), 1).expect("measured");
        assert!((found - share).abs() < 0.005, "{kib} KiB: {found} for {share}");
    }
}

/// Sixteen threads on eight cores, two on each, keep 16 MiB together.
#[test]
fn a_team_keeps_what_its_cores_keep() {
    let (variant, elements) = ONE_TEAM;
    let mut clock = Clock::new(0.01, 0.02);
    let twin = |(mib, ns)| {
        let footprint = Bytes::mib(mib);
        measured(Quantity::Twin { variant, elements, footprint }, 1, clock.times(ns, 40))
    };
    let truth = [(2, 4e3), (8, 4e3), (16, 4.6e3), (20, 9e3), (32, 10e3), (96, 10e3)];
    let caches = fitted(truth.map(twin).to_vec()).caches;
    for (mib, share) in [(2, 0.0), (8, 0.0), (16, 0.1), (20, 0.83), (96, 1.0)] {
        let found = caches.own(Bytes::mib(mib), 16).expect("measured");
        assert!((found - share).abs() < 0.03, "{mib} MiB: {found} for {share}");
    }
    // For a single thread nothing is known.
    assert_eq!(caches.own(Bytes::mib(1), 1), None);
}

/// In two visits of five, a team finds everything in its caches, and so takes three times as many
/// samples in a visit. Most samples are fast then, but most visits are slow.
#[test]
fn visits_count_alike_however_many_samples_they_have() {
    let (variant, elements) = ONE_TEAM;
    let mut clock = Clock::new(0.01, 0.0);
    let mut all = Vec::new();
    let mut visit = |mib, ns, samples| {
        let footprint = Bytes::mib(mib);
        let quantity = Quantity::Twin { variant, elements, footprint };
        all.push(measured(quantity, 1, clock.times(ns, samples)));
    };
    for _ in 0..2 {
        visit(2, 4e3, 15);
        visit(96, 12e3, 5);
        visit(20, 4e3, 15);
        visit(20, 12e3, 5);
    }
    visit(20, 12e3, 5);
    let caches = fitted(all).caches;
    let found = caches.own(Bytes::mib(20), 16).expect("measured");
    assert!((0.55..0.75).contains(&found), "{found} for three of five");
}

#[test]
fn what_handing_data_over_costs_is_told_by_kernels_of_ones_own() {
    let mut clock = Clock::new(0.01, 0.02);
    let mut all = Vec::new();
    let takers = [
        (Taker::One, 3_000.0, [0.05, 0.11]),
        (Taker::Team, 6_000.0, [0.016, 0.0]),
        (Taker::TeamBehindHelpers, 5_000.0, [0.0016, 0.0034]),
    ];
    for (taker, own, costs) in takers {
        let elements = taker.elements(16);
        let bytes = 4.0 * elements as f64;
        let times = [own, own + costs[0] * bytes, own + costs[1] * bytes];
        for (part, ns) in Handing::ALL.into_iter().zip(times) {
            all.push(measured(Quantity::Handed { taker, part, elements }, 1, clock.times(ns, 60)));
        }
    }
    let caches = fitted(all).caches;
    let [one, team] = [caches.handed_to_one, caches.handed_to_team].map(|h| h.expect("measured"));
    assert_within(one.read_ns_per_byte, 0.05, 0.03, "read by one");
    assert_within(one.written_ns_per_byte, 0.11, 0.03, "written by one");
    assert_within(team.read_ns_per_byte, 0.016, 0.05, "read by all");
    assert!(team.written_ns_per_byte < 0.001, "written by all: {}", team.written_ns_per_byte);
    let helpers = caches.handed_behind_helpers.expect("measured");
    assert_within(helpers.read_ns_per_byte, 0.0016, 0.05, "read behind helpers");
    assert_within(helpers.written_ns_per_byte, 0.0034, 0.05, "written behind helpers");
}

/// Among other calls, a launch runs beside a copy's data for a fifth of the time: 64 KiB at 55
/// GB/s, once in 6 us.
#[test]
fn launches_beside_copies_are_told_from_those_beside_none() {
    let mut clock = Clock::new(0.01, 0.02);
    let mut all = Vec::new();
    let mut add = |quantity, ns| all.push(measured(quantity, 1, clock.times(ns, 60)));
    let [ins, outs] = Direction::BOTH;
    for (copy, ns) in [(None, 3_000.0), (Some(ins), 3_500.0), (Some(outs), 3_200.0)] {
        add(Quantity::LaunchBeside { copy }, ns);
    }
    for bytes in [1 << 20, 1 << 24, 1 << 28] {
        add(copy(bytes), 1_000.0 + bytes as f64 / 55.0);
    }
    let in_turn = |call| Quantity::CallInTurn { call: Some(call), one_stream: true };
    add(in_turn(TimedCall::CopyIn), 1_350.0);
    add(in_turn(TimedCall::Launch), 3_300.0);
    add(in_turn(TimedCall::CopyOut), 1_350.0);
    let calls = fitted(all).calls;
    assert_within(calls.launch_beside_copy_in.expect("measured").ns, 500.0, 0.05, "beside in");
    assert_within(calls.launch_beside_copy_out.expect("measured").ns, 200.0, 0.12, "beside out");
    assert_within(calls.launch.expect("measured").ns, 3_300.0 - 99.3, 0.005, "beside none");
}

/// A launch takes 2.1 us in a row of launches, and 3.2 us among other calls. A launch by cuBLAS
/// takes 9.4 us in a row.
#[test]
fn what_a_library_does_besides_is_told_from_a_launch() {
    let mut clock = Clock::new(0.01, 0.02);
    let in_a_row = |call| Quantity::Call { call };
    let among = Quantity::CallInTurn { call: Some(TimedCall::Launch), one_stream: true };
    let mut all = Vec::new();
    for (quantity, ns) in [
        (in_a_row(TimedCall::Launch), 2_100.0),
        (in_a_row(TimedCall::Multiply), 9_400.0),
        (among, 3_200.0),
    ] {
        all.push(measured(quantity, 1, clock.times(ns, 60)));
    }
    let profile = fitted(all);
    let launch = |kernel| profile.launch(kernel).map(Span::nanos_f64);
    assert_within(launch(Kernel::Scale).expect("measured"), 3_200.0, 0.01, "our own");
    assert_within(launch(Kernel::Matmul).expect("measured"), 3_200.0 + 7_300.0, 0.01, "cuBLAS's");
    let unknown = launch(Kernel::Fft).expect_err("not measured").to_string();
    assert!(unknown.contains("the host cost of a launch by cuFFT"), "{unknown}");
}

/// Pageable copies whose data is wholly in the caches of their core, or not at all.
#[test]
fn copies_are_known_by_where_their_data_is() {
    let mut clock = Clock::new(0.002, 0.0);
    let mut all = Vec::new();
    for (footprint, rate) in [(None, 18.0), (Some(MOST_OF_ONE_CORE), 14.0)] {
        for bytes in [Bytes::kib(128), Bytes::mib(1), Bytes::mib(4)] {
            for complete in [false, true] {
                let (direction, footprint) = (DOWN, footprint.unwrap_or(bytes));
                let quantity = Quantity::Staged { direction, bytes, footprint, complete };
                all.push(measured(quantity, 1, clock.times(bytes.as_f64() / rate, 20)));
            }
        }
    }
    let models = fitted(all).staging;
    for (found, rate) in [(Warmth::Same, 18.0), (Warmth::Shared, 14.0)] {
        let model = models.iter().find(|model| model.found == found).expect("measured");
        let bytes = Bytes::mib(1).as_f64();
        assert_within(model.until_complete.at(bytes), bytes / rate, 0.02, format!("{found:?}"));
    }
}

/// For a quarter of the time, everything on the host takes 30% longer. Both visits of a quantity
/// may fall into that time.
#[test]
fn what_a_moment_does_to_everything_is_taken_out() {
    let truth = |elements: u64, extent: u32| 2_000.0 + 0.01 * elements as f64 * f64::from(extent);
    let extents = 8..34;
    let sizes = (10..26).map(|power| 1_u64 << power);
    let of_size = |elements| extents.clone().map(move |extent| (elements, extent));
    let mut visits: Vec<(u64, u32)> = sizes.clone().chain(sizes).flat_map(of_size).collect();
    let mut clock = Clock::new(0.01, 0.0);
    visits.shuffle(&mut clock.random);
    let (from, until) = (visits.len() / 2, 3 * visits.len() / 4);
    let visit = |(place, &(elements, extent)): (usize, &(u64, u32))| {
        let variant = Variant { kernel: Kernel::Polynomial, extent };
        let footprint = Bytes::new(variant.bytes(elements));
        let mood = if (from..until).contains(&place) { 1.3 } else { 1.0 };
        let times = clock.times(mood * truth(elements, extent), 7);
        measured(Quantity::Twin { variant, elements, footprint }, 1, times)
    };
    let profile = fitted(visits.iter().enumerate().map(visit).collect());
    for (elements, extent) in visits {
        let twin = profile.twins.iter().find(|twin| twin.variant.extent == extent);
        let found = twin.expect("measured").time.at(elements as f64);
        assert_within(found, truth(elements, extent), 0.02, format!("{elements} of {extent}"));
    }
}
