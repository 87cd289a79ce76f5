//! Straight lines through points.

use super::median;

/// `y = intercept + slope * x`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub intercept: f64,
    pub slope: f64,
}

impl Line {
    pub fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The median of the slopes between all pairs of points, and the median intercept
/// that goes with it: up to 29% of the points may lie anywhere (Sen, "Estimates of
/// the regression coefficient based on Kendall's tau", JASA 63, 1968).
///
/// `None` unless two points differ in `x`. Quadratic in the number of points.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(index, &from)| points[index + 1..].iter().map(move |&to| (from, to)))
        .filter(|(from, to)| from.0 != to.0)
        .map(|(from, to)| (to.1 - from.1) / (to.0 - from.0))
        .collect();
    let slope = median(&slopes)?;
    let intercepts: Vec<f64> = points.iter().map(|&(x, y)| y - slope * x).collect();
    Some(Line { intercept: median(&intercepts)?, slope })
}

/// The line that minimises the sum of `weight * (y - line)²`, computed about the
/// centre of the points so that large `x` cost no digits.
///
/// `None` unless two points with a positive weight differ in `x`.
pub fn weighted_line(points: &[(f64, f64)], weights: &[f64]) -> Option<Line> {
    assert_eq!(points.len(), weights.len(), "one weight for each point");
    assert!(weights.iter().all(|&weight| weight >= 0.0), "a negative weight");
    let weighted = || points.iter().zip(weights).filter(|pair| *pair.1 > 0.0);
    let (first, _) = weighted().next()?;
    if weighted().all(|(point, _)| point.0 == first.0) {
        return None;
    }
    let total: f64 = weights.iter().sum();
    let center = |part: fn(&(f64, f64)) -> f64| {
        let weighted_sum: f64 = weighted().map(|(point, weight)| weight * part(point)).sum();
        weighted_sum / total
    };
    let (center_x, center_y) = (center(|point| point.0), center(|point| point.1));
    let mut variance = 0.0;
    let mut covariance = 0.0;
    for (&(x, y), weight) in weighted() {
        variance += weight * (x - center_x).powi(2);
        covariance += weight * (x - center_x) * (y - center_y);
    }
    let slope = covariance / variance;
    Some(Line { intercept: center_y - slope * center_x, slope })
}
