//! How closely a curve follows its points: as closely as predicts another pass best.
//!
//! A curve through all points follows noise of a single pass, and a curve with too few pieces
//! misses what both passes show. Which of the two a curve does is found by comparing a curve
//! through the points of each pass with the points of the other (cross-validation: Stone,
//! "Cross-validatory choice and assessment of statistical predictions", J. Royal Statistical
//! Society B 36, 1974).

use crate::stats::{interpolate, segment};

/// The largest relative distance between a curve and its points where nothing else is known.
pub(super) const TOLERANCE: f64 = 0.005;

/// The tolerances to choose from: from a knot at every point to one straight line.
const CHOICES: [f64; 6] = [0.0, 0.0025, 0.01, 0.02, 0.05, f64::INFINITY];

/// The tolerance with which a curve through each pass comes closest to the points of the other. It
/// is [`TOLERANCE`] unless another one is better by more than the standard error of the difference.
/// Both passes have points of the same sizes.
pub(super) fn tolerance(passes: [&[(f64, f64)]; 2]) -> f64 {
    let usual = errors(passes, TOLERANCE);
    let gain = |choice: f64| {
        let errors = errors(passes, choice);
        let gains = usual.iter().zip(errors).map(|(usual, error)| usual - error);
        let gains: Vec<f64> = gains.collect();
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
        (mean > (squares / (n - 1.0) / n).sqrt()).then_some((choice, mean))
    };
    let gains = CHOICES.into_iter().filter_map(gain);
    gains.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(TOLERANCE, |(choice, _)| choice)
}

/// The relative distances between the curve through each pass and the points of the other.
fn errors([one, other]: [&[(f64, f64)]; 2], tolerance: f64) -> Vec<f64> {
    let error = |from: &[(f64, f64)], to: &[(f64, f64)]| -> Vec<f64> {
        let knots = segment(from, tolerance);
        let positive = to.iter().filter(|point| point.1 > 0.0);
        positive.map(|&(size, ns)| (interpolate(&knots, size) / ns - 1.0).abs()).collect()
    };
    [error(one, other), error(other, one)].concat()
}
