//! Whether the scatter of samples has settled, so that more samples would not change it.

use super::order::{quantile_of_sorted, sorted};

/// The spread of samples as they come in: the distance between their quartiles.
#[derive(Debug, Clone, Default)]
pub struct Steadiness {
    /// The spread after each sample.
    spreads: Vec<f64>,
}

impl Steadiness {
    /// Records the spread of all values so far, which are one more than before.
    pub fn add(&mut self, values: &[f64]) {
        let sorted = sorted(values);
        let quartiles = [0.25, 0.75].map(|q| quantile_of_sorted(&sorted, q).unwrap_or(0.0));
        self.spreads.push(quartiles[1] - quartiles[0]);
    }

    /// Whether the spread has stayed within the relative `tolerance` of its present value ever
    /// since half as many values were there. While a quantity drifts or jumps between levels it has
    /// not, and more values are worth taking.
    pub fn has_come_to_rest(&self, tolerance: f64) -> bool {
        let Some(&now) = self.spreads.last() else { return false };
        let recent = &self.spreads[self.spreads.len() / 2..];
        recent.iter().all(|spread| (spread - now).abs() <= tolerance * now)
    }
}
