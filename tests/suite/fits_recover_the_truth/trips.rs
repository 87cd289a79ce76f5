//! Fits of trips of one operation and of two.

use super::*;
use hallway::profile::{Latencies, OperationKind};
use hallway::samples::{GraphCall, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS, TripPart};

const KIB: u64 = 1024;
const COPIES: [u64; 10] = [
    4 * KIB,
    16 * KIB,
    24 * KIB,
    32 * KIB,
    64 * KIB,
    128 * KIB,
    256 * KIB,
    512 * KIB,
    1024 * KIB,
    1536 * KIB,
];
const DEGREES: [u64; 6] = [64, 512, 1024, 2048, 4096, 6144];

/// Nanoseconds of each kind of call; of the way to the device; and of waking up the host.
const CALL: [f64; 3] = [1_100.0, 1_200.0, 2_800.0];
const START: f64 = 2_400.0;
const SYNCHRONIZE: f64 = 1_300.0;

/// The time of an operation on its engine.
fn service(link: OperationKind, size: u64) -> f64 {
    match link {
        OperationKind::CopyIn | OperationKind::CopyOut | OperationKind::PeerCopy => {
            1_500.0 + size as f64 / 55.0
        }
        OperationKind::Kernel => 2_000.0 + 4.0 * size as f64,
    }
}

/// Samples of a machine on which an operation that comes `late` nanoseconds too early waits for
/// `wait(late)`.
fn samples(clock: &mut Clock, wait: impl Fn(f64) -> f64) -> Vec<Measurement> {
    samples_of_pairs(clock, |_, _, late| wait(late))
}

/// Samples of a machine on which the wait also depends on what the operation follows and on what it
/// is.
fn samples_of_pairs(
    clock: &mut Clock,
    wait: impl Fn(OperationKind, OperationKind, f64) -> f64,
) -> Vec<Measurement> {
    let mut all = Vec::new();
    let mut add = |quantity, ns| all.push(measured(quantity, 1, clock.times(ns, 51)));
    let timed = [TimedCall::CopyIn, TimedCall::CopyOut, TimedCall::Launch];
    for (call, ns) in timed.into_iter().zip(CALL) {
        add(Quantity::CallInTurn { call: Some(call), one_stream: false }, ns);
    }
    add(Quantity::Call { call: TimedCall::Synchronize }, SYNCHRONIZE);
    for direction in Direction::BOTH {
        let link = if direction == DOWN { OperationKind::CopyIn } else { OperationKind::CopyOut };
        for bytes in COPIES {
            let what = Quantity::Copy { direction, bytes: Bytes::new(bytes) };
            add(what, service(link, bytes));
        }
    }
    let chain = Quantity::Chain { links: vec![OperationKind::Kernel], across: false };
    add(chain, service(OperationKind::Kernel, 0));
    for degree in DEGREES {
        let variant = Variant { kernel: Kernel::Polynomial, extent: degree as u32 };
        let kernel = Quantity::Kernel { variant, elements: TRIP_ELEMENTS };
        add(kernel, service(OperationKind::Kernel, degree));
    }
    for (next, call) in OperationKind::OF_ONE_DEVICE.into_iter().zip(CALL) {
        let alone = Quantity::RoundTrip { links: vec![next], across: false, long: false };
        add(alone, call + START + service(next, 0) + SYNCHRONIZE);
    }
    for (first, call) in OperationKind::OF_ONE_DEVICE.into_iter().zip(CALL) {
        let sizes = if first == OperationKind::Kernel { &DEGREES[..] } else { &COPIES };
        for &size in sizes {
            // The driver sends the data of small copies to the device along with the command.
            let inline = first == OperationKind::CopyIn && size <= 24 * KIB;
            let called = call + if inline { size as f64 / 16.0 } else { 0.0 };
            let end = called + START + service(first, size);
            let trip = |next, part| Quantity::Trip { first, size, next, part, in_graph: false };
            add(trip(None, TripPart::FirstCall), called);
            add(trip(None, TripPart::Rest), end + SYNCHRONIZE - called);
            for (next, call) in OperationKind::OF_ONE_DEVICE.into_iter().zip(CALL) {
                let arrives = called + call + START;
                let begins = arrives + wait(first, next, end - arrives);
                if next != first {
                    let size = if next == OperationKind::Kernel { 0 } else { SHORT_COPY.get() };
                    let whole = begins + service(next, size) + SYNCHRONIZE;
                    add(trip(Some(next), TripPart::FirstCall), called);
                    add(trip(Some(next), TripPart::NextCall), call);
                    add(trip(Some(next), TripPart::Rest), whole - called - call);
                }
            }
        }
    }
    all
}

/// Samples of that machine with graphs of one node and of two. Each node takes a microsecond to
/// launch.
fn of_graphs(
    clock: &mut Clock,
    sizes: impl Fn(OperationKind) -> Vec<u64>,
    wait: impl Fn(f64) -> f64,
) -> Vec<Measurement> {
    let mut all = Vec::new();
    let mut add = |quantity, ns| all.push(measured(quantity, 1, clock.times(ns, 51)));
    for nodes in [3, 24, 96] {
        let launch = Quantity::GraphCall { call: GraphCall::Launch, nodes };
        add(launch, 500.0 + 1_000.0 * nodes as f64);
    }
    for first in OperationKind::OF_ONE_DEVICE {
        for size in sizes(first) {
            let trip = |next, part| Quantity::Trip { first, size, next, part, in_graph: true };
            // Times count from the return of the launch.
            let end = START + service(first, size);
            add(trip(None, TripPart::FirstCall), 1_500.0);
            add(trip(None, TripPart::Rest), end + SYNCHRONIZE);
            for next in OperationKind::OF_ONE_DEVICE.into_iter().filter(|&next| next != first) {
                let size = if next == OperationKind::Kernel { 0 } else { SECOND_NODE.get() };
                let begins = START + wait(end - 1_000.0 - START);
                add(trip(Some(next), TripPart::FirstCall), 2_500.0);
                add(trip(Some(next), TripPart::Rest), begins + service(next, size) + SYNCHRONIZE);
            }
        }
    }
    all
}

#[test]
fn periods_of_nodes_count_from_a_moment_of_their_own() {
    let looks =
        |late: f64, after: f64| after + ((late - after) / 8_200.0).ceil().max(1.0) * 8_200.0;
    let wait = |after| move |late: f64| if late > 0.0 { looks(late, after) } else { 0.0 };
    let mut clock = Clock::new(0.005, 0.02);
    let mut all = samples(&mut clock, wait(1_700.0));
    let sizes = |first| match first {
        OperationKind::Kernel => vec![1024, 4096],
        _ => vec![256 * KIB, 512 * KIB],
    };
    all.extend(of_graphs(&mut clock, sizes, wait(600.0)));
    let looks = fitted(all).latency.semaphore_polling.expect("waits are whole periods");
    for (pairs, truth) in [(looks.first_polls, 1_700.0), (looks.first_polls_in_graphs, 600.0)] {
        assert_eq!(pairs.len(), 6);
        for pair in pairs {
            let (ns, from, to) = (pair.time.ns, pair.from, pair.to);
            assert!((ns - truth).abs() <= 300.0, "{from:?} to {to:?}: {ns} for {truth}");
        }
    }
}

/// Nodes that come up to 1.6 us too early go on at once. Operations of 1.5 to 3.3 us tell them from
/// others.
#[test]
fn how_early_a_node_may_come() {
    let looks = |late: f64| 600.0 + ((late - 600.0) / 8_200.0).ceil().max(1.0) * 8_200.0;
    let wait = |late: f64| if late > 1_600.0 { looks(late) } else { late.max(0.0) };
    let mut clock = Clock::new(0.005, 0.01);
    let mut all = samples(&mut clock, |late| if late > 0.0 { looks(late) } else { 0.0 });
    let sizes = |first| match first {
        OperationKind::Kernel => vec![64, 128, 256, 1024, 4096],
        _ => vec![32 * KIB, 48 * KIB, 96 * KIB, 256 * KIB, 512 * KIB],
    };
    for degree in [128, 256] {
        let variant = Variant { kernel: Kernel::Polynomial, extent: degree };
        let kernel = Quantity::Kernel { variant, elements: TRIP_ELEMENTS };
        let ns = service(OperationKind::Kernel, u64::from(degree));
        all.push(measured(kernel, 1, clock.times(ns, 51)));
    }
    all.extend(of_graphs(&mut clock, sizes, wait));
    let looks = fitted(all).latency.semaphore_polling.expect("waits are whole periods");
    assert_eq!(looks.first_polls_in_graphs.len(), 6);
    for pair in looks.first_polls_in_graphs {
        let (from, to) = (pair.from, pair.to);
        let found = pair.arrival_tolerance.expect("trips on both sides").ns;
        assert!((found - 1_600.0).abs() <= 500.0, "{from:?} to {to:?}: {found}");
    }
}

#[test]
fn the_time_between_two_looks_and_from_when_it_counts() {
    for (period, after) in [(4_000.0, 0.0), (8_200.0, 0.0), (8_200.0, 1_700.0), (13_000.0, 900.0)] {
        let looks = |late: f64| ((late - after) / period).ceil().max(1.0);
        let wait = |late: f64| if late > 0.0 { after + looks(late) * period } else { 0.0 };
        let profile = fitted(samples(&mut Clock::new(0.02, 0.05), wait));
        let found = profile.latency.semaphore_polling.expect("waits are whole periods");
        assert_within(found.period.ns, period, 0.03, "period");
        assert_eq!(found.first_polls.len(), 6);
        for pair in found.first_polls {
            let (ns, from, to) = (pair.time.ns, pair.from, pair.to);
            assert!((ns - after).abs() <= 300.0, "{from:?} to {to:?}: {ns} for {after}");
        }
        let Latencies { start_kernel, start_copy_in, start_copy_out, .. } = profile.latency;
        for start in [start_kernel, start_copy_in, start_copy_out] {
            assert_within(start.expect("trips tell").ns, START, 0.1, "way to the device");
        }
    }
}

/// The later a copy to the host comes, the more data of the other copy is ahead of its command.
#[test]
fn periods_of_late_operations_begin_later() {
    let looks =
        |late: f64, after: f64| after + ((late - after) / 8_200.0).ceil().max(1.0) * 8_200.0;
    let (first, next, pause) = (OperationKind::CopyIn, OperationKind::CopyOut, 4_000.0);
    let mut clock = Clock::new(0.005, 0.02);
    let mut all = samples(&mut clock, |late| if late > 0.0 { looks(late, 1_200.0) } else { 0.0 });
    let [called, call, _] = CALL;
    for size in [512 * KIB, 1024 * KIB] {
        let arrives = called + pause + call + START;
        let end = called + START + service(first, size);
        let waits = looks(end - arrives, 3_100.0);
        let rest = START + waits + service(next, SHORT_COPY.get()) + SYNCHRONIZE;
        let parts = TripPart::all(true).iter().zip([called, pause + call, rest]);
        for (&part, ns) in parts {
            let quantity = Quantity::LateTrip { first, size, next, part };
            all.push(measured(quantity, 1, clock.times(ns, 51)));
        }
    }
    let looks = fitted(all).latency.semaphore_polling.expect("waits are whole periods");
    let (known, others): (Vec<_>, Vec<_>) =
        looks.first_polls.iter().partition(|pair| pair.under_way.is_some());
    let [pair] = known[..] else { panic!("of {} pairs", known.len()) };
    assert_eq!((pair.from, pair.to), (OperationKind::CopyIn, OperationKind::CopyOut));
    assert_eq!(others.len(), 5);
    let knots = &pair.under_way.as_ref().expect("known").knots;
    // Both take equally long to the device, so the second arrives later by its call and the pause.
    for ((time, after), truth) in knots.iter().zip([(call, 1_200.0), (pause + call, 3_100.0)]) {
        assert_within(*time, truth.0, 0.05, "under way");
        assert!((after - truth.1).abs() <= 300.0, "{after} for {}", truth.1);
    }
}

/// Calls take up to 600 ns more or less. So the same two operations arrive in time on some trips
/// and too early on others, and each trip shows which. A millisecond lost in one of them proves
/// nothing.
#[test]
fn how_much_too_early_each_pair_of_operations_may_come() {
    let truth = |first, next| match (first, next) {
        (OperationKind::Kernel, OperationKind::CopyIn) => 300.0,
        (OperationKind::Kernel, OperationKind::CopyOut) => 800.0,
        (OperationKind::CopyOut, OperationKind::Kernel) => 1_200.0,
        _ => 600.0,
    };
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let wait = |first, next, late: f64| {
        let looks = (late / 8_200.0).ceil() * 8_200.0;
        if late > truth(first, next) { looks } else { late.max(0.0) }
    };
    let mut all = samples_of_pairs(&mut Clock::new(0.005, 0.02), wait);
    let mut add = |quantity, times: Vec<f64>| {
        let times = times.into_iter().map(Span::from_nanos_f64).collect();
        all.push(Measurement::new(quantity, 1, times, Stop::Stable));
    };
    for (first, called) in OperationKind::OF_ONE_DEVICE.into_iter().zip(CALL) {
        for (next, call) in OperationKind::OF_ONE_DEVICE.into_iter().zip(CALL) {
            if next == first {
                continue;
            }
            let call = call + 2_000.0;
            // The first operation is long enough for about half of the second ones to come too
            // early.
            let longer = call + truth(first, next);
            let size = match first {
                OperationKind::Kernel => ((longer - 2_000.0) / 4.0) as u64,
                _ => ((longer - 1_500.0) * 55.0) as u64,
            };
            let end = START + service(first, size);
            let trip = |next, part| Quantity::Trip { first, size, next, part, in_graph: false };
            add(trip(None, TripPart::FirstCall), vec![called; 9]);
            add(trip(None, TripPart::Rest), vec![end + SYNCHRONIZE; 9]);
            let own = if next == OperationKind::Kernel { 0 } else { SHORT_COPY.get() };
            let (mut calls, mut rests) = (Vec::new(), Vec::new());
            for at in 0..200 {
                let call = call + random.random_range(-600.0..600.0);
                let arrives = call + START;
                let waits = wait(first, next, end - arrives);
                let held_up = if at % 50 == 0 { 1e6 } else { 0.0 };
                calls.push(call);
                rests.push(START + waits + service(next, own) + SYNCHRONIZE + held_up);
            }
            add(trip(Some(next), TripPart::FirstCall), vec![called; 200]);
            add(trip(Some(next), TripPart::NextCall), calls);
            add(trip(Some(next), TripPart::Rest), rests);
        }
    }
    let looks = fitted(all).latency.semaphore_polling.expect("waits are whole periods");
    assert_eq!(looks.first_polls.len(), 6);
    for pair in &looks.first_polls {
        let link = |kind| match kind {
            OperationKind::CopyIn => OperationKind::CopyIn,
            OperationKind::CopyOut => OperationKind::CopyOut,
            _ => OperationKind::Kernel,
        };
        let truth = truth(link(pair.from), link(pair.to));
        let (from, to) = (pair.from, pair.to);
        let found =
            pair.arrival_tolerance.unwrap_or_else(|| panic!("{from:?} to {to:?}: no tolerance")).ns;
        assert!((found - truth).abs() <= 60.0, "{from:?} to {to:?}: {found} for {truth}");
    }
}

#[test]
fn no_looks_where_waits_are_as_long_as_what_is_waited_for() {
    let wait = |late: f64| if late > 0.0 { late + 3_000.0 } else { 0.0 };
    let profile = fitted(samples(&mut Clock::new(0.02, 0.05), wait));
    assert_eq!(profile.latency.semaphore_polling, None);
}

/// The kernel behind a copy that an engine makes waits for the engine's next poll.
#[test]
fn up_to_which_size_copies_go_along_with_a_launch_behind_other_nodes() {
    let mut clock = Clock::new(0.02, 0.05);
    let mut all = samples(&mut clock, |_| 0.0);
    let profile = fitted(all.clone());
    assert_eq!(profile.inline.expect("measured").most_bytes_behind_nodes, None);
    for bytes in [256, 512, 1024, 1536, 2048, 4096] {
        let ns = 11_000.0 + bytes as f64 / 16.0 + if bytes > 1024 { 7_000.0 } else { 0.0 };
        let quantity = Quantity::CopyBehindNode { bytes: Bytes::new(bytes) };
        all.push(measured(quantity, 1, clock.times(ns, 40)));
    }
    let inline = fitted(all).inline.expect("measured");
    assert_eq!(inline.most_bytes_behind_nodes, Some(Bytes::kib(1)));
}

#[test]
fn up_to_which_size_copies_go_along_with_their_command() {
    let profile = fitted(samples(&mut Clock::new(0.02, 0.05), |_| 0.0));
    let inline = profile.inline.expect("small copies have longer calls");
    assert_eq!(inline.most_bytes, Bytes::kib(24));
    for bytes in [4 * KIB, 16 * KIB, 24 * KIB] {
        let returns = CALL[0] + bytes as f64 / 16.0;
        assert_within(inline.until_return.at(bytes as f64), returns, 0.02, bytes);
        let complete = returns + START + service(OperationKind::CopyIn, bytes);
        assert_within(inline.until_complete.at(bytes as f64), complete, 0.02, bytes);
    }
}

/// Launches take up to a quarter more or less, uniformly. Their estimate is that of many launches
/// together.
#[test]
fn how_far_single_launches_lie_apart() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut all = samples(&mut Clock::new(0.02, 0.0), |_| 0.0);
    for one in &mut all {
        if let Quantity::Trip { first: OperationKind::Kernel, part: TripPart::FirstCall, .. }
        | Quantity::Trip {
            next: Some(OperationKind::Kernel), part: TripPart::NextCall, ..
        } = one.quantity
        {
            let factor = || random.random_range(0.75..1.25) * CALL[2];
            one.times =
                std::iter::repeat_with(factor).take(200).map(Span::from_nanos_f64).collect();
        }
    }
    let spread = fitted(all).calls.launch_spread.expect("single launches");
    for (share, factor) in [(0.1, 0.8), (0.5, 1.0), (0.9, 1.2)] {
        assert_within(hallway::stats::interpolate(&spread, share), factor, 0.01, share);
    }
}

/// One launch in two hundred takes a thousand times as long. That does not belong to what launches
/// take together.
#[test]
fn launches_that_take_very_long_make_no_others_shorter() {
    let mut all = samples(&mut Clock::new(0.02, 0.0), |_| 0.0);
    for one in &mut all {
        if let Quantity::Trip { first: OperationKind::Kernel, part: TripPart::FirstCall, .. } =
            one.quantity
        {
            let nanos = |index| if index == 7 { 1e3 * CALL[2] } else { CALL[2] };
            one.times = (0..200).map(nanos).map(Span::from_nanos_f64).collect();
        }
    }
    let spread = fitted(all).calls.launch_spread.expect("single launches");
    for share in [0.05, 0.5, 0.95] {
        assert_within(interpolate(&spread, share), 1.0, 0.04, share);
    }
}

#[test]
fn calls_right_behind_a_wait_are_told_from_others() {
    let mut clock = Clock::new(0.02, 0.05);
    let mut all = Vec::new();
    // Behind a wait, a launch takes 150 ns longer, and a copy to the host 50 ns.
    let times = [
        (TimedCall::CopyIn, 1_300.0, 1_300.0),
        (TimedCall::Launch, 3_200.0, 3_350.0),
        (TimedCall::CopyOut, 1_400.0, 1_450.0),
    ];
    // Reading the clock makes each call 45 ns longer.
    let mut add = |call: Option<TimedCall>, one_stream, ns| {
        let ns = ns + if call.is_some() { 45.0 } else { 0.0 };
        all.push(measured(Quantity::CallInTurn { call, one_stream }, 1, clock.times(ns, 201)));
    };
    for (call, in_one_stream, behind) in times {
        add(Some(call), true, in_one_stream);
        add(Some(call), false, behind);
    }
    add(Some(TimedCall::Wait), false, 140.0);
    add(Some(TimedCall::Record), false, 160.0);
    add(None, true, 5_900.0);
    add(None, false, 6_100.0 + 2.0 * (140.0 + 160.0));
    let calls = fitted(all).calls;
    assert_within(calls.launch.expect("launches were timed").ns, 3_200.0, 0.01, "launch");
    assert_within(calls.copy_out.expect("copies were timed").ns, 1_400.0, 0.01, "copy out");
    assert_within(calls.wait.expect("waits were timed").ns, 140.0, 0.1, "wait");
    assert_within(calls.record.expect("records were timed").ns, 160.0, 0.1, "record");
}
