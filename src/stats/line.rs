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
