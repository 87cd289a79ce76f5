//! Another calibration finds a parameter inside its interval as often as promised, wherever drift
//! between calibrations is no larger than between passes. Without two passes there are no
//! intervals.

use super::machines::machine;
use hallway::calibrate::Schedule;
use hallway::compare::{Agreement, Pair};
use hallway::fit::{fit, fit_passes, intervals};
use hallway::kernels::{Kernel, Variant};
use hallway::machine::Direction;
use hallway::profile::{Intervals, Profile};
use hallway::report::{UnsteadyLink, agreement, sureness};
use hallway::samples::{
    CalibrationExtent, Measurement, Provenance, Quantity, Samples, Stop, TimedCall,
};
use hallway::units::{Bytes, Span};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

/// Draws from about the normal distribution, with standard deviation 1.
pub(super) fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Student's t with three degrees of freedom, which has no fourth moment, scaled to standard
/// deviation 1.
fn heavy_tailed(random: &mut ChaCha8Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / squares.sqrt()
}

/// Draws a number with standard deviation 1.
type Deviate = fn(&mut ChaCha8Rng) -> f64;

/// How much a machine drifts, relatively, from visit to visit and from one calibration to the next.
#[derive(Clone, Copy)]
struct Drifts {
    deviate: Deviate,
    visit: f64,
    calibration: f64,
}

/// Quantities and their true times, in nanoseconds.
fn truth() -> Vec<(Quantity, f64)> {
    let mut truth = Vec::new();
    // The rates grow with the size, so that no curve is a straight line.
    for power in 3..=26 {
        let elements = 1_u64 << power;
        let slower = 20.0 * (elements as f64).sqrt();
        for direction in Direction::BOTH {
            let bytes = Bytes::new(elements);
            let copy = Quantity::Copy { direction, bytes };
            truth.push((copy, 2_000.0 + slower + bytes.as_f64() / 50.0));
        }
        let variant = Variant { kernel: Kernel::Saxpy, extent: 0 };
        let kernel = Quantity::Kernel { variant, elements };
        truth.push((kernel, 1_500.0 + slower + elements as f64 / 250.0));
    }
    // A record takes almost nothing compared to the launch it was measured with.
    for (call, ns) in [
        (TimedCall::Launch, 2_000.0),
        (TimedCall::LaunchAndRecord, 2_030.0),
        (TimedCall::WaitAndLaunch, 2_400.0),
        (TimedCall::CopyIn, 1_100.0),
        (TimedCall::CopyOut, 1_000.0),
        (TimedCall::Clear, 700.0),
        (TimedCall::Synchronize, 1_300.0),
    ] {
        truth.push((Quantity::Call { call }, ns));
    }
    truth
}

fn calibrated(drifts: Drifts, visits: usize, random: &mut ChaCha8Rng) -> Samples {
    let Drifts { deviate, visit, calibration } = drifts;
    let truth = truth();
    let of_calibration: Vec<f64> = truth.iter().map(|_| calibration * deviate(random)).collect();
    let mut measurements = Vec::new();
    for _ in 0..visits {
        for ((quantity, ns), of_calibration) in truth.iter().zip(&of_calibration) {
            let drift = (of_calibration + visit * deviate(random)) / (1.0 + ns / 20_000.0);
            let center = 16.0 * ns * drift.exp();
            let time = |_| Span::from_nanos_f64(center * (1.0 + 0.003 * normal(random)).max(0.1));
            let times = (0..10).map(time).collect();
            let (quantity, stop) = (quantity.clone(), Stop::Settled);
            measurements.push(Measurement::new(quantity, 16, times, stop));
        }
    }
    Samples { measurements, ..Samples::none(machine().machine) }
}

fn fitted(samples: &Samples) -> Profile {
    let profile = fit(samples).expect("samples");
    let passes = fit_passes(samples);
    let intervals = passes.and_then(|passes| intervals(samples, &profile, &passes));
    Profile { intervals, ..profile }
}

fn compared(one: &Profile, other: &Profile) -> Agreement {
    let intervals = [one, other].map(|profile| profile.intervals.as_ref().expect("two passes"));
    Agreement::of([one, other], intervals)
}

/// The share of parameters that adjacent calibrations find inside each other's intervals, for all
/// parameters and by section.
fn coverage(drifts: Drifts, calibrations: usize) -> BTreeMap<String, f64> {
    let random = &mut ChaCha8Rng::seed_from_u64(3);
    let profiles: Vec<Profile> =
        (0..calibrations).map(|_| fitted(&calibrated(drifts, 2, random))).collect();
    let mut counts: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for pair in profiles.windows(2) {
        for pair in compared(&pair[0], &pair[1]).pairs {
            for section in [pair.section.as_str(), "all"] {
                let [same, all] = counts.entry(section.to_owned()).or_default();
                *same += f64::from(u8::from(pair.is_same()));
                *all += 1.0;
            }
        }
    }
    counts.into_iter().map(|(section, [same, all])| (section, same / all)).collect()
}

#[test]
fn intervals_hold_whether_drift_is_normal_or_not() {
    for deviate in [normal as Deviate, heavy_tailed] {
        for calibration in [0.005, 0.01] {
            let found = coverage(Drifts { deviate, visit: 0.02, calibration }, 20);
            assert!((0.9..=0.99).contains(&found["all"]), "{calibration}: {found:?}");
            for section in ["copy", "kernel", "calls"] {
                assert!(found[section] >= 0.85, "{calibration}: {found:?}");
            }
        }
    }
}

const STEADY: Drifts = Drifts { deviate: normal, visit: 0.02, calibration: 0.0 };

#[test]
fn what_drifts_is_less_sure_than_what_does_not() {
    let width = |visit, name: &str, at: usize| {
        let random = &mut ChaCha8Rng::seed_from_u64(4);
        let profile = fitted(&calibrated(Drifts { visit, ..STEADY }, 2, random));
        let parameters = profile.parameters();
        let widths = profile.intervals.expect("two passes").half_widths;
        let parameter = parameters.iter().find(|one| one.name == name).expect("fitted");
        let at = at.min(parameter.points.len() - 1);
        widths[name][at] / parameter.points[at].1
    };
    let copy = "copy(host-to-device).time";
    assert!(width(0.1, copy, 0) > 3.0 * width(0.02, copy, 0));
    // Long copies drift by almost nothing.
    assert!(width(0.1, copy, 0) > 4.0 * width(0.1, copy, usize::MAX));
    // A record takes almost nothing, so it is no surer than what it was measured with.
    assert!(width(0.02, "calls.record", 0) > width(0.02, "calls.launch", 0));
}

/// A single disturbed visit says nothing about all other visits of its kind.
#[test]
fn one_disturbed_visit_leaves_its_kind_as_sure() {
    let random = &mut ChaCha8Rng::seed_from_u64(5);
    let mut calm = calibrated(STEADY, 2, random);
    // Few enough copies are left that 95% of them are all of them.
    let out = |one: &Measurement| {
        matches!(one.quantity, Quantity::Copy { direction: Direction::DeviceToHost, .. })
    };
    calm.measurements.retain(|one| !out(one));
    let mut disturbed = calm.clone();
    let one = disturbed.measurements.iter_mut().find(|one| match &one.quantity {
        Quantity::Copy { bytes, .. } => *bytes == Bytes::kib(256),
        _ => false,
    });
    for time in &mut one.expect("both passes have it").times {
        *time = *time * 2;
    }
    let width = |samples: &Samples| {
        let widths = &fitted(samples).intervals.expect("two passes").half_widths;
        widths["copy(host-to-device).time"][0]
    };
    let (before, after) = (width(&calm), width(&disturbed));
    assert!(after < 1.5 * before, "{before} and {after}");
}

/// Which of two modes is the larger one may change from one calibration to the next.
#[test]
fn what_has_two_modes_is_less_sure() {
    let random = &mut ChaCha8Rng::seed_from_u64(6);
    let one = calibrated(STEADY, 2, random);
    let mut two = one.clone();
    let waits = Quantity::Call { call: TimedCall::Synchronize };
    for measurement in two.measurements.iter_mut().filter(|one| one.quantity == waits) {
        let times = std::mem::take(&mut measurement.times);
        let third = |(at, time): (usize, Span)| if at % 3 == 0 { time * 2 } else { time };
        measurement.times = times.into_iter().cycle().take(30).enumerate().map(third).collect();
    }
    let width = |samples: &Samples| {
        fitted(samples).intervals.expect("two passes").half_widths["calls.synchronize"][0]
    };
    let (before, after) = (width(&one), width(&two));
    assert!(after > 3.0 * before, "{before} and {after}");
}

#[test]
fn one_pass_gives_no_intervals() {
    let random = &mut ChaCha8Rng::seed_from_u64(5);
    let once = fitted(&calibrated(STEADY, 1, random));
    assert_eq!(once.intervals, None);
    assert!(
        sureness(&once).contains("The parameters have no intervals, which require"),
        "{}",
        sureness(&once)
    );
    // One quantity was visited once, in a calibration that visited everything else twice.
    let mut samples = calibrated(STEADY, 2, random);
    let clear = Quantity::Call { call: TimedCall::Clear };
    let last = samples.measurements.iter().rposition(|one| one.quantity == clear).expect("twice");
    samples.measurements.remove(last);
    let profile = fitted(&samples);
    let widths = &profile.intervals.as_ref().expect("of the others").half_widths;
    assert!(!widths.contains_key("calls.clear") && widths.contains_key("calls.launch"));
    assert!(sureness(&profile).contains("1 parameter measured in only one pass"));
}

#[test]
fn chains_of_few_and_of_many_are_one_visit() {
    let random = &mut ChaCha8Rng::seed_from_u64(6);
    let with_few = |visits| {
        let Samples { machine, measurements, .. } = calibrated(STEADY, visits, random);
        let pairs = measurements.into_iter().flat_map(|many| {
            let times = many.times.iter().map(|time| Span::from_nanos(time.nanos() / 8)).collect();
            [Measurement { times, count: 2, ..many.clone() }, many]
        });
        fitted(&Samples { measurements: pairs.collect(), ..Samples::none(machine) })
    };
    let [once, twice] = [1, 2].map(with_few);
    assert_eq!(once.intervals, None);
    let parameters = twice.parameters().len();
    assert_eq!(twice.intervals.expect("two passes").half_widths.len(), parameters);
}

#[test]
fn a_calibration_visits_everything_twice_and_a_quick_one_once() {
    for (extent, passes) in [(CalibrationExtent::Full, 2), (CalibrationExtent::Quick, 1)] {
        let schedule = Schedule::new(&Provenance { extent, ..machine().machine });
        let visits: Vec<_> = schedule.quantities().collect();
        assert!(visits.len().is_multiple_of(passes));
        let pass = |visits: &[Vec<&Quantity>]| {
            let mut sorted: Vec<Vec<Quantity>> =
                visits.iter().map(|one| one.iter().copied().cloned().collect()).collect();
            sorted.sort_unstable();
            sorted
        };
        let mut whole = visits.chunks(visits.len() / passes).map(pass);
        let first = whole.next().expect("a pass");
        assert!(whole.all(|other| other == first), "{extent:?}");
        let orders: Vec<_> = visits.chunks(visits.len() / passes).collect();
        assert!(orders.windows(2).all(|pair| pair[0] != pair[1]), "in the same order");
    }
}

#[test]
fn every_number_that_was_fitted_has_a_name_of_its_own() {
    let profile = machine();
    let parameters = profile.parameters();
    let names: BTreeSet<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), parameters.len());
    for name in [
        "calls.launch",
        "latency.kernel_gap",
        "link.down_bytes_per_second",
        "link.up_shared.per_byte_ns",
        "handover(copy-in, kernel, not across streams).first",
        "copy(host-to-device).time",
        "staging(device-to-host, memory).until_return",
        "kernel(saxpy, extent 0).time",
        "caches.twin_misses",
        "memory.renew",
        "polling(copies true false).delay",
    ] {
        assert!(names.contains(name), "no {name} in {names:#?}");
    }
    let find = |name: &str| parameters.iter().find(|one| one.name == name).expect("named");
    assert_eq!(find("calls.launch").points, [(0.0, 2_000.0)]);
    assert!(!find("calls.launch").is_curve && find("copy(host-to-device).time").is_curve);
    assert_eq!(find("copy(host-to-device).time").points, profile.copies[0].time.knots);
    assert!(names.iter().all(|name| !name.contains("scatter") && !name.contains("machine")));
}

#[test]
fn intervals_are_kept_in_the_file_and_may_be_missing_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.toml");
    let profile = fitted(&calibrated(STEADY, 2, &mut ChaCha8Rng::seed_from_u64(8)));
    assert!(profile.intervals.is_some());
    profile.save(&path).expect("written");
    assert_eq!(Profile::load(&path).expect("a profile"), profile);
    let text = std::fs::read_to_string(&path).expect("written");
    let (without, _) = text.split_once("[intervals").expect("a section");
    let end = text.lines().last().expect("an end mark");
    std::fs::write(&path, format!("{without}{end}\n")).expect("written");
    assert_eq!(Profile::load(&path).expect("a profile"), Profile { intervals: None, ..profile });
}

/// A machine whose parameters are sure to within 10%.
fn sure_to_a_tenth() -> Profile {
    let profile = machine();
    let widths = profile.parameters().into_iter().map(|one| {
        let widths = one.points.iter().map(|point| point.1.abs() / 10.0).collect();
        (one.name, widths)
    });
    let intervals = Some(Intervals { half_widths: widths.collect() });
    Profile { intervals, ..profile }
}

/// A mean hand-over that was measured once stands in many hand-overs.
#[test]
fn an_estimate_that_stands_in_many_places_is_compared_once() {
    let with_hops = |ns| {
        let mut profile = sure_to_a_tenth();
        profile.hand_overs.iter_mut().for_each(|hop| hop.queued.ns = ns);
        let widths = &mut profile.intervals.as_mut().expect("sure").half_widths;
        let of_hops = widths.iter_mut().filter(|(name, _)| name.ends_with(".queued"));
        of_hops.for_each(|(_, widths)| *widths = vec![100.0]);
        profile
    };
    let pairs = |now| compared(&with_hops(1_000.0), &with_hops(now)).pairs;
    let is_hop = |pair: &&Pair| pair.name.ends_with(".queued");
    let [same, changed] = [1_000.0, 3_000.0].map(pairs);
    assert!(with_hops(1_000.0).hand_overs.len() > 3);
    assert_eq!(same.iter().filter(is_hop).count(), 1);
    let changed: Vec<&Pair> = changed.iter().filter(|pair| !pair.is_same()).collect();
    assert_eq!(changed.iter().filter(|pair| is_hop(pair)).count(), 1);
    assert_eq!(changed.len(), 1);
}

#[test]
fn a_comparison_names_what_changed_and_by_how_much() {
    let before = sure_to_a_tenth();
    let mut now = before.clone();
    let call = |profile: &mut Profile, to| profile.calls.launch.as_mut().expect("known").ns = to;
    call(&mut now, 2_150.0);
    let same = compared(&before, &now);
    assert_eq!((same.share(), same.unpaired.len()), (Some(1.0), 0));
    assert!((same.pairs[0].distance() - 0.75).abs() < 1e-9, "{:?}", same.pairs[0]);
    call(&mut now, 2_300.0);
    now.copies[0].time.knots[1].1 *= 2.0;
    now.memory.renew = None;
    let found = compared(&before, &now);
    let changed: Vec<_> = found.pairs.iter().filter(|pair| !pair.is_same()).collect();
    let names: Vec<&str> = changed.iter().map(|pair| pair.name.as_str()).collect();
    // The parameter that is farthest outside comes first.
    assert_eq!(names, ["copy(host-to-device).time", "calls.launch"]);
    assert_eq!((changed[0].size, changed[1].size), (Some(4e6), None));
    assert_eq!(found.unpaired, ["memory.renew"]);
    let text = agreement(&found, 20, None);
    for words in [
        "copy(host-to-device).time at 4000000",
        "+100.0%",
        "+15.0%",
        "agree within their 95% intervals",
        "1 parameter not compared",
        "pinned copies",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    assert!(agreement(&found, 1, None).contains("\n1 more; `--all`"), "{text}");
    assert_eq!(sureness(&before).lines().count(), 1);
    assert!(sureness(&before).starts_with("95% intervals: median ±10.0%; widest:"));
}

/// Knots of a curve lie where the data bend. Two curves are compared at the knots of either.
#[test]
fn curves_that_bend_elsewhere_are_compared_all_the_same() {
    let before = sure_to_a_tenth();
    let mut now = before.clone();
    let widths = &mut now.intervals.as_mut().expect("they are sure").half_widths;
    let knots = &mut now.copies[0].time.knots;
    let middle = (knots[0].0 + knots[1].0) / 2.0;
    knots.insert(1, (middle, (knots[0].1 + knots[1].1) / 2.0));
    let name = "copy(host-to-device).time";
    widths.insert(name.to_owned(), knots.iter().map(|knot| knot.1 / 10.0).collect());
    assert_eq!(compared(&before, &now).share(), Some(1.0));
    assert_eq!(compared(&now, &before).share(), Some(1.0));
    // Sizes that only one of the two curves knows are left out.
    now.copies[0].time.knots.pop();
    let widths = &mut now.intervals.as_mut().expect("they are sure").half_widths;
    widths.get_mut(name).expect("named").pop();
    let found = compared(&before, &now);
    assert_eq!(found.pairs.iter().filter(|pair| pair.name == name).count(), 1);
}

#[test]
fn a_link_that_others_use_is_told() {
    let mut profile = machine();
    let rate = profile.link.up_bytes_per_second.expect("known").bytes_per_second();
    assert_eq!(UnsteadyLink::of(&profile), None);
    for (share, is_told) in [(0.03, false), (0.09, false), (0.11, true), (2.285, true)] {
        let name = "link.up_bytes_per_second".to_owned();
        let half_widths = BTreeMap::from([(name, vec![share * rate])]);
        profile.intervals = Some(Intervals { half_widths });
        let told = UnsteadyLink::of(&profile);
        assert_eq!(told.is_some(), is_told, "{told:?}");
        assert!(told.is_none_or(|told| told.d2h == share && told.h2d == 0.0), "{told:?}");
        let says = told.map(UnsteadyLink::sentence);
        let d2h = format!("D2H to \u{b1}{:.0}%", 100.0 * share);
        assert!(says.is_none_or(|says| says.contains(&d2h)), "{d2h}");
    }
}
