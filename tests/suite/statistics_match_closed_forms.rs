//! Every statistic against a case that can be computed by hand.

use hallway::stats::*;
use proptest::prelude::*;

fn assert_close(value: f64, truth: f64) {
    let tolerance = 1e-9 * truth.abs().max(1e-3);
    assert!((value - truth).abs() <= tolerance, "{value} is not {truth}");
}

/// The numbers 1 to n, from the outside in.
fn shuffled(n: u32) -> Vec<f64> {
    (0..n).map(|i| f64::from(if i % 2 == 0 { n - i / 2 } else { i / 2 + 1 })).collect()
}

#[test]
fn medians_and_quantiles() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[7.0]), Some(7.0));
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    // Quantiles of type 7: the q quantile of 1..=n is 1 + q (n - 1).
    for n in [1, 2, 5, 10, 101] {
        for q in [0.0, 0.05, 0.25, 0.5, 0.9, 1.0] {
            assert_close(quantile(&shuffled(n), q).unwrap(), 1.0 + q * f64::from(n - 1));
        }
    }
    assert_eq!(quantile_of_sorted(&[1.0, 3.0], 0.25), Some(1.5));
    assert_eq!(quantile_of_sorted(&[], 0.25), None);
}

#[test]
#[should_panic(expected = "a statistic of a value that is none")]
fn a_nan_is_a_mistake() {
    median(&[1.0, f64::NAN]);
}

#[test]
fn spreads() {
    // The deviations from 3 are 2 1 0 1 97, and their median is 1.
    let values = [1.0, 2.0, 3.0, 4.0, 100.0];
    assert_close(mad(&values).unwrap(), 1.482_602_218_505_602);
    assert_close(relative_spread(&values).unwrap(), 1.482_602_218_505_602 / 3.0);
    assert_eq!(mad(&[5.0; 4]), Some(0.0));
    assert_eq!(relative_spread(&[5.0; 4]), Some(0.0));
    assert_eq!(mad(&[]), None);
    assert_eq!(relative_spread(&[]), None);
    assert_eq!(relative_spread(&[0.0, 0.0, 1.0]), None);
}

#[test]
fn far_values_count_less_in_a_biweight_mean() {
    assert_eq!(biweight_mean(&[], 0.1), None);
    assert_eq!(biweight_mean(&[7.0], 0.1), Some(7.0));
    // Most values are equal, and no other value is near.
    assert_close(biweight_mean(&[5.0, 5.0, 5.0, 9.0], 0.0).unwrap(), 5.0);
    assert_close(biweight_mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.0).unwrap(), 3.0);
    // The far value lies beyond the others and does not count at all.
    let without = biweight_mean(&[10.0, 10.0, 10.5], 0.2).unwrap();
    for far in [13.0, 1e6] {
        assert_close(biweight_mean(&[10.0, 10.0, 10.5, 10.0, far], 0.2).unwrap(), {
            biweight_mean(&[10.0, 10.0, 10.5, 10.0], 0.2).unwrap()
        });
    }
    // The mean m of these solves
    // 2 (m - 10) (1 - ((m - 10) / 2)^2)^2 = (10.5 - m) (1 - ((10.5 - m) / 2)^2)^2.
    let pull = |value: f64| (value - without) * (1.0 - ((value - without) / 2.0).powi(2)).powi(2);
    assert!((2.0 * pull(10.0) + pull(10.5)).abs() < 1e-12, "{without}");
}

#[test]
fn mad_estimates_the_deviation_of_a_normal_distribution() {
    use statrs::distribution::{ContinuousCDF, Normal};
    let normal = Normal::new(10.0, 2.0).unwrap();
    let n = 10_001;
    let values: Vec<f64> =
        (0..n).map(|i| normal.inverse_cdf((f64::from(i) + 0.5) / f64::from(n))).collect();
    assert!((mad(&values).unwrap() - 2.0).abs() < 1e-3);
}

#[test]
fn deviates() {
    assert_eq!(deviate(0.25, || 0.5), 1.0);
    assert_eq!(deviate(0.25, || 0.75), 1.75);
    // It never falls below a fifth.
    assert_eq!(deviate(0.25, || 0.0), 0.2);
}

/// The ranks of the median's 95% interval, as printed in tables of the sign test.
#[test]
fn confidence_of_the_median() {
    for (n, low, high) in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33), (100, 40, 61)] {
        let half_width = relative_half_width(&shuffled(n)).unwrap();
        assert_close(half_width, f64::from(high - low) / 2.0 / (f64::from(n + 1) / 2.0));
    }
    for n in 0..6 {
        assert_eq!(relative_half_width(&shuffled(n)), None);
    }
    assert_eq!(relative_half_width(&[3.0; 9]), Some(0.0));
    assert_eq!(relative_half_width(&[0.0; 9]), None);
    // The interval narrows as 1 / sqrt(n): 1.96 / sqrt(n) of half the range.
    let wide = relative_half_width(&shuffled(100_000)).unwrap();
    assert!((wide - 1.96 / 100_000f64.sqrt()).abs() < 1e-4, "{wide}");
}

/// All orders of `n` values and one more are equally likely, so the new value exceeds the
/// value of rank `k` with probability `1 - k / (n + 1)`.
#[test]
fn conformal_quantiles() {
    for (n, probability, rank) in
        [(19, 0.95, 19), (20, 0.95, 20), (39, 0.95, 38), (99, 0.95, 95), (9, 0.9, 9), (3, 0.5, 2)]
    {
        assert_eq!(conformal_quantile(&shuffled(n), probability), Some(f64::from(rank)), "{n}");
    }
    assert_eq!(conformal_quantile(&shuffled(18), 0.95), None);
    assert_eq!(conformal_quantile(&[], 0.5), None);
}

#[test]
fn theil_sen_ignores_outliers() {
    let mut points: Vec<_> = (0..11).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x))).collect();
    points[4].1 = 1e6;
    points[9].1 = -1e6;
    let line = theil_sen(&points).unwrap();
    assert_close(line.slope, 2.0);
    assert_close(line.intercept, 3.0);
    assert_close(line.at(100.0), 203.0);
    // The slopes are 1, 2 and 3/2; the intercepts -1/2, 0 and 0.
    let line = theil_sen(&[(1.0, 1.0), (2.0, 3.0), (3.0, 4.0)]).unwrap();
    assert_close(line.slope, 1.5);
    assert_close(line.intercept, -0.5);
    assert_eq!(theil_sen(&[]), None);
    assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0)]), None);
}

#[test]
fn interpolation_between_and_beyond_knots() {
    let knots = [(1.0, 10.0), (2.0, 20.0), (4.0, 24.0)];
    let cases =
        [(0.0, 10.0), (1.0, 10.0), (1.5, 15.0), (2.0, 20.0), (3.0, 22.0), (4.0, 24.0), (6.0, 28.0)];
    for (x, y) in cases {
        assert_eq!(interpolate(&knots, x), y);
    }
    assert_eq!(interpolate(&[(1.0, 9.0), (2.0, 5.0)], 1.5), 7.0);
    assert_eq!(interpolate(&[(1.0, 9.0), (2.0, 5.0)], 3.0), 5.0, "a falling curve ends level");
    assert_eq!(interpolate(&[(1.0, 9.0)], 0.0), 9.0);
    assert_eq!(interpolate(&[(1.0, 9.0)], 2.0), 9.0);
}

#[test]
fn small_segmentations() {
    assert!(segment(&[], 0.1).is_empty());
    assert_eq!(segment(&[(1.0, 2.0)], 0.1), [(1.0, 2.0)]);
    let straight: Vec<_> = (0..20).map(|x| (f64::from(x), 5.0 + f64::from(x))).collect();
    assert_eq!(segment(&straight, 1e-9), [straight[0], straight[19]]);
    // The tolerance decides whether a step of 10% is one piece or three.
    let step = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.1), (3.0, 1.1)];
    assert_eq!(segment(&step, 0.04), [step[0], step[3]]);
    assert_eq!(segment(&step, 0.001), step);
}

/// Curves with rising and falling slopes whose knots lie on the points.
fn curves() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((3..8u32, 0.5..2.0f64, any::<bool>()), 1..5).prop_map(|pieces| {
        let mut knots = vec![(0.0, 100.0)];
        let mut slope = 0.0;
        for (points, turn, up) in pieces {
            // The slope changes by at least one half at every knot.
            slope += if up || slope > 3.0 { -turn } else { turn };
            let (x, y) = knots[knots.len() - 1];
            knots.push((x + f64::from(points), y + slope * f64::from(points)));
        }
        knots
    })
}

proptest! {
    #[test]
    fn planted_breakpoints_are_found(knots in curves()) {
        let last = knots[knots.len() - 1].0 as u32;
        let points: Vec<_> =
            (0..=last).map(|x| (f64::from(x), interpolate(&knots, f64::from(x)))).collect();
        let found: Vec<f64> = segment(&points, 1e-9).iter().map(|knot| knot.0).collect();
        let planted: Vec<f64> = knots.iter().map(|knot| knot.0).collect();
        prop_assert_eq!(found, planted);
    }

    #[test]
    fn no_segmentation_exceeds_its_tolerance(
        heights in prop::collection::vec(-10.0..10.0f64, 2..40), tolerance in 0.0..2.0f64,
    ) {
        let points: Vec<_> = heights.iter().enumerate().map(|(i, &y)| (i as f64, y)).collect();
        let knots = segment(&points, tolerance);
        prop_assert_eq!(knots[0], points[0]);
        prop_assert_eq!(knots[knots.len() - 1], points[points.len() - 1]);
        for &(x, y) in &points {
            prop_assert!((interpolate(&knots, x) - y).abs() <= tolerance * y.abs() + 1e-12);
        }
    }
}

#[test]
fn values_that_something_raised_do_not_count() {
    assert_eq!(unraised_mean(&[], 0.01), None);
    assert_eq!(unraised_mean(&[3.0], 0.01), Some(3.0));
    // A coarse clock makes some of the values equal.
    let ties = [1.20, 1.20, 1.21, 1.21, 1.22];
    assert_close(unraised_mean(&ties, 0.0).unwrap(), 1.20);
    assert_close(unraised_mean(&ties, 0.02).unwrap(), biweight_mean(&ties, 0.0).unwrap());
    // Values evenly around 10, and twice as many that some disturbance made longer.
    let around: Vec<f64> = (0..21).map(|i| 9.9 + 0.01 * f64::from(i)).collect();
    assert_close(unraised_mean(&around, 0.0).unwrap(), 10.0);
    let raised = (0..42).map(|i| 10.5 + 0.1 * f64::from(i));
    let all: Vec<f64> = around.iter().copied().chain(raised).collect();
    assert_close(unraised_mean(&all, 0.0).unwrap(), 10.0);
    // It is the mean for values that are normally distributed.
    let normal = statrs::distribution::Normal::standard();
    let normal = |i| statrs::distribution::ContinuousCDF::inverse_cdf(&normal, i);
    let values: Vec<f64> = (0..1001).map(|i| normal((f64::from(i) + 0.5) / 1001.0)).collect();
    assert!(unraised_mean(&values, 0.0).unwrap().abs() < 1e-6);
}
