//! In every measurement of a whole calibration, the machine once does something else for a tenth of
//! a second.

use super::*;
use crate::kept::saved;
use crate::predicted::{FITTED, SAMPLES};
use std::sync::LazyLock;

/// The profile of a whole calibration with spikes. To fit it takes seconds, so the tests share it.
static SPIKED: LazyLock<Profile> = LazyLock::new(|| {
    let mut spoilt = SAMPLES.clone();
    for measurement in &mut spoilt.measurements {
        // Each measurement has a spike, since even memory management of hundreds of
        // milliseconds is timed at least three times.
        let middle = measurement.times.len() / 2;
        measurement.times.insert(middle, Span::from_millis(100));
    }
    fit(&spoilt).expect("whole")
});

/// The median of each visit. Two visits may find a CPU in two states. Then each state has half
/// of all times, and the median of both visits can be anywhere in between.
fn visits(what: &Quantity) -> Vec<f64> {
    let visits = SAMPLES.measurements.iter().filter(|one| one.quantity == *what);
    let middle = |one: &Measurement| {
        let times: Vec<f64> = one.times.iter().map(|span| span.nanos_f64()).collect();
        median(&times).expect("visited") / one.count as f64
    };
    visits.map(middle).collect()
}

/// How far apart the visits of a round trip lie.
fn apart(links: &[OperationKind], across: bool) -> f64 {
    let links = links.to_vec();
    let visits = visits(&Quantity::RoundTrip { links, across, long: true });
    most(&visits) - least(&visits)
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::MAX, f64::min)
}

fn most(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

#[track_caller]
fn assert_stays(what: &str, before: f64, after: f64, apart: f64) {
    let allowed = 0.05 * before.abs() + 60.0 + apart;
    assert!((after - before).abs() <= allowed, "{what}: {before} becomes {after}");
}

#[test]
fn a_single_spike_moves_no_call_and_no_copy() {
    let (before, after) = (&*FITTED, &*SPIKED);
    let calls = |p: &Profile| [p.calls.launch, p.calls.copy_in, p.calls.copy_out, p.calls.clear];
    let latencies = |p: &Profile| [p.latency.start_kernel, p.latency.kernel_gap];
    for (a, b) in calls(before).into_iter().zip(calls(after)) {
        assert_stays("a call", a.expect("known").ns, b.expect("known").ns, 0.0);
    }
    for (a, b) in latencies(before).into_iter().zip(latencies(after)) {
        assert_stays("a latency", a.expect("known").ns, b.expect("known").ns, 0.0);
    }
    for (a, b) in before.hand_overs.iter().zip(&after.hand_overs) {
        let links = [a.from, a.to];
        let apart = apart(&links, a.across_streams) + apart(&links[..1], false);
        assert_stays("a hand-over", a.first.ns, b.first.ns, apart);
        // A queued hand-over that differs from the first one comes from chains on the device.
        let apart = if a.queued.ns == a.first.ns { apart } else { 0.0 };
        assert_stays("a queued hand-over", a.queued.ns, b.queued.ns, apart);
    }
    for power in 2..=28 {
        for direction in Direction::BOTH {
            let time = |p: &Profile| p.copy(direction, Bytes::new(1 << power)).map(Span::nanos_f64);
            assert_stays("a copy", time(before).expect("known"), time(after).expect("known"), 0.0);
        }
    }
}

#[test]
fn a_single_spike_moves_no_kernel_and_no_twin() {
    let (before, after) = (&*FITTED, &*SPIKED);
    let calibrated = |kernel: &Kernel| before.kernels.iter().any(|m| m.variant.kernel == *kernel);
    for kernel in Kernel::ALL.into_iter().filter(calibrated) {
        let arguments = Variant { kernel, extent: 64 }.arguments();
        for power in 10..=26 {
            let found = DeviceLocality::default();
            let time =
                |p: &Profile| p.kernel(kernel, &arguments, 1 << power, &found).expect("known").ns;
            assert_stays(kernel.name(), time(before), time(after), 0.0);
            let footprint = Bytes::new(kernel.bytes_per_element() << power);
            let mut reuse = Reuse::default();
            reuse.0[0] = (footprint, footprint);
            let own = HostLocality { reuse, footprint, ..HostLocality::default() };
            let time = |p: &Profile| p.twin(kernel, &arguments, 1 << power, own).expect("known");
            let elements = 1 << power;
            let variant = Variant { kernel, extent: kernel.extent().map_or(0, |_| 64) };
            let visits = visits(&Quantity::Twin { variant, elements, footprint });
            if visits.is_empty() {
                // The size was not measured itself, so it lies between two that were.
                continue;
            }
            let times = [visits, vec![time(before)]].concat();
            let between = 0.9 * least(&times) - 60.0..=1.1 * most(&times) + 60.0;
            assert!(between.contains(&time(after)), "{kernel}: {times:?}, {}", time(after));
        }
    }
}

/// Something held up all copies of one size. The profile is still one that can be kept.
#[test]
fn a_size_that_was_held_up_takes_no_longer_than_a_larger_one() {
    let mut clock = Clock::new(0.002, 0.0);
    let sizes = [Bytes::kib(128), Bytes::kib(256), Bytes::mib(1)];
    let staged = |(bytes, held_up): (Bytes, f64)| {
        let quantity =
            Quantity::Staged { direction: DOWN, bytes, footprint: bytes, complete: true };
        measured(quantity, 1, clock.times(held_up * bytes.as_f64() / 18.0, 20))
    };
    let profile = fitted(sizes.into_iter().zip([1.0, 12.0, 1.0]).map(staged).collect());
    saved(&profile);
    let time = profile.staging[0].until_complete.at(Bytes::kib(256).as_f64());
    assert_within(time, Bytes::mib(1).as_f64() / 18.0, 0.02, "no longer than a mebibyte");
}
