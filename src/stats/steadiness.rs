//! Whether more samples would show more.

use super::order::{quantile_of_sorted, sorted};

/// The spread of samples as they come in: the distance of their quartiles.
#[derive(Debug, Clone, Default)]
pub struct Steadiness {
    /// After each sample.
    spreads: Vec<f64>,
}

impl Steadiness {
    /// Takes note of the spread of all values so far, one more than before.
    pub fn add(&mut self, values: &[f64]) {
        let sorted = sorted(values);
        let quartiles = [0.25, 0.75].map(|q| quantile_of_sorted(&sorted, q).unwrap_or(0.0));
        self.spreads.push(quartiles[1] - quartiles[0]);
    }

    /// Whether the spread has stayed within the relative `tolerance` of what it is
    /// now since half as many values were there. It has not while a quantity drifts,
    /// or jumps from one level to another, and then more values are worth having;
    /// what only scatters comes to rest.
    pub fn has_come_to_rest(&self, tolerance: f64) -> bool {
        let Some(&now) = self.spreads.last() else { return false };
        let recent = &self.spreads[self.spreads.len() / 2..];
        recent.iter().all(|spread| (spread - now).abs() <= tolerance * now)
    }
}
