//! How closely a curve follows the points: as closely as predicts another pass best.
//!
//! A curve through all points follows what only one pass saw; one with too few
//! pieces misses what both did. Curves through each pass say of the other's points
//! which it is (cross-validation: Stone, "Cross-validatory choice and assessment of
//! statistical predictions", J. Royal Statistical Society B 36, 1974).

use crate::stats::{interpolate, segment};

/// What a curve may leave out a point for, as a share of its value, where nothing
/// says otherwise.
pub(super) const TOLERANCE: f64 = 0.005;

/// From every point to one straight line.
const CHOICES: [f64; 6] = [0.0, 0.0025, 0.01, 0.02, 0.05, f64::INFINITY];

/// The tolerance with which curves through the points of either pass come closest to
/// those of the other: [`TOLERANCE`], unless another is better by more than the
/// standard error of the difference. Points are of the same sizes.
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

/// How far the curve through one pass lies from the points of the other, and the
/// other way round, relatively.
fn errors([one, other]: [&[(f64, f64)]; 2], tolerance: f64) -> Vec<f64> {
    let error = |from: &[(f64, f64)], to: &[(f64, f64)]| -> Vec<f64> {
        let knots = segment(from, tolerance);
        let positive = to.iter().filter(|point| point.1 > 0.0);
        positive.map(|&(size, ns)| (interpolate(&knots, size) / ns - 1.0).abs()).collect()
    };
    [error(one, other), error(other, one)].concat()
}
