//! Deviates of what is known with a scatter.

use statrs::distribution::{ContinuousCDF, Normal};

/// Nine of ten normal deviates are within so many standard deviations of zero.
pub const NINE_OF_TEN: f64 = 1.645;

/// Nothing takes no time at all: a deviate is at least so much.
pub const LEAST_DEVIATE: f64 = 0.2;

/// One plus a normal deviate times the scatter, kept well above zero. `uniform` gives deviates
/// from 0 to 1: the sum of twelve of them less six is normal enough here (Irwin 1927, Hall 1927)
/// and, unlike a logarithm, the same to the last bit everywhere.
pub fn deviate(scatter: f64, mut uniform: impl FnMut() -> f64) -> f64 {
    let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (1.0 + scatter * normal).max(LEAST_DEVIATE)
}

/// The share of normal deviates that are less than so many standard deviations.
pub fn normal_share_below(deviations: f64) -> f64 {
    Normal::standard().cdf(deviations)
}

/// How many standard deviations from zero this share of normal deviates stays within.
pub fn deviations_holding(share: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + share / 2.0)
}
