//! A check answers *changed* for what changed, *same* for what did not, and *uncertain*
//! where the samples cannot tell.

use super::intervals_hold_what_they_promise::normal;
use super::machines::machine;
use hallway::calibrate::Schedule;
use hallway::compare::{Drift, DriftAnswer};
use hallway::kernels::Kernel;
use hallway::machine::Direction;
use hallway::report::drifts;
use hallway::samples::{CalibrationExtent, Provenance, Quantity};
use hallway::units::Bytes;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use std::collections::BTreeSet;

/// Draws `samples` times of a quantity with this median and relative scatter.
fn times(random: &mut ChaCha8Rng, median: f64, scatter: f64, samples: usize) -> Vec<f64> {
    (0..samples).map(|_| median * (1.0 + scatter * normal(random))).collect()
}

/// The answers for a hundred pairs of sittings: same, changed, uncertain.
fn answers((ratio, scatter): (f64, f64), (before, now): (usize, usize)) -> [usize; 3] {
    let random = &mut ChaCha8Rng::seed_from_u64(5);
    let mut count = [0; 3];
    for _ in 0..100 {
        let before = times(random, 1_000.0, scatter, before);
        let now = times(random, 1_000.0 * ratio, scatter, now);
        let answer = Drift::between(&before, &now).expect("times on both sides").answer;
        count[answer as usize] += 1;
    }
    count
}

#[test]
fn the_same_machine_is_the_same() {
    for scatter in [0.0, 0.005, 0.02] {
        assert_eq!(answers((1.0, scatter), (100, 60)), [100, 0, 0], "{scatter}");
    }
    // Not equal to the last bit, but equal for every purpose.
    assert_eq!(answers((1.03, 0.005), (100, 60)), [100, 0, 0]);
    assert_eq!(answers((0.97, 0.005), (100, 60)), [100, 0, 0]);
    // There is no false alarm, however wide the scatter and few the samples.
    for scatter in [0.05, 0.1, 0.2] {
        for samples in [(60, 9), (200, 200), (9, 9)] {
            let [_, changed, _] = answers((1.0, scatter), samples);
            assert_eq!(changed, 0, "{scatter} {samples:?}");
        }
    }
}

#[test]
fn another_machine_has_changed() {
    for ratio in [0.8, 0.9, 1.1, 1.25, 4.0] {
        assert_eq!(answers((ratio, 0.01), (100, 20)), [0, 100, 0], "{ratio}");
    }
    assert_eq!(answers((1.5, 0.1), (200, 60)), [0, 100, 0]);
}

#[test]
fn what_the_samples_leave_open_is_left_open() {
    // The ratio lies on the edge of the margin.
    let [same, changed, uncertain] = answers((1.05, 0.02), (100, 30));
    assert!(uncertain > 80, "{same} same, {changed} changed, {uncertain} uncertain");
    // Seven samples give no 99% interval; eight do.
    assert_eq!(answers((1.0, 0.0), (7, 100)), [0, 0, 100]);
    assert_eq!(answers((1.0, 0.0), (100, 7)), [0, 0, 100]);
    assert_eq!(answers((1.0, 0.0), (8, 8)), [100, 0, 0]);
    for (before, now) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[0.0; 9], &[1.0; 9])] {
        assert_eq!(Drift::between(before, now), None);
    }
}

#[test]
fn wild_times_change_nothing() {
    let random = &mut ChaCha8Rng::seed_from_u64(9);
    let before = times(random, 1_000.0, 0.01, 60);
    let mut now = times(random, 1_000.0, 0.01, 60);
    now.iter_mut().step_by(8).for_each(|time| *time *= 1_000.0);
    assert_eq!(Drift::between(&before, &now).expect("times").answer, DriftAnswer::Same);
}

#[test]
fn the_margin_grows_with_the_scatter_before() {
    // Two thirds of the values deviate by 10%, so the median deviation is 10%.
    let before: Vec<f64> = (0..99).map(|at| [90.0, 100.0, 110.0][at % 3]).collect();
    let drift = Drift::between(&before, &[112.0; 20]).expect("times");
    assert!((drift.margin - 2.0 * 0.148_260_221_850_560_2).abs() < 1e-12, "{drift:?}");
    assert!((drift.change() - 0.12).abs() < 1e-12);
    let steady = Drift::between(&[100.0; 20], &[112.0; 20]).expect("times");
    assert_eq!((steady.margin, steady.answer), (0.05, DriftAnswer::Changed));
}

#[test]
fn what_is_checked_is_what_was_calibrated() {
    for extent in [CalibrationExtent::Full, CalibrationExtent::Quick] {
        let machine = Provenance { extent, ..machine().machine };
        let schedule = Schedule::new(&machine);
        let calibrated: BTreeSet<&Quantity> = schedule.quantities().flatten().collect();
        let telling = Schedule::telling(&machine);
        let checked: BTreeSet<&Quantity> = telling.quantities().flatten().collect();
        assert!(checked.is_subset(&calibrated));
        assert!((20..60).contains(&checked.len()), "{}", checked.len());
        for kernel in Kernel::ALL {
            let is_its = |what: &&&Quantity| match what {
                Quantity::Twin { variant, .. } => variant.kernel == kernel,
                _ => false,
            };
            assert_eq!(checked.iter().filter(is_its).count(), 1, "{kernel}");
        }
    }
}

#[test]
fn the_report_has_a_line_for_each_and_a_sum() {
    let copy = |direction| Quantity::Copy { direction, bytes: Bytes::mib(1) };
    let drift = |now: f64| Drift::between(&[20_000.0; 20], &[now; 20]).expect("times");
    let [down, up] = Direction::BOTH.map(copy);
    let text = drifts(&[(down.clone(), drift(20_100.0)), (up, drift(30_000.0))], None);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].contains("H2D copy of 1 MiB, pinned") && lines[2].ends_with("same"), "{text}");
    assert!(lines[3].contains("+50.0%") && lines[3].ends_with("changed"), "{text}");
    assert!(text.contains("2 times: 1 same, 1 changed, 0 uncertain. The machine has changed"));
    assert!(
        drifts(&[(down, drift(20_100.0))], None).contains("No sign that the machine has changed."),
        "{text}"
    );
    assert!(
        drifts(&[], None).contains("The measurements are too noisy to tell: calibrate again to be")
    );
}
