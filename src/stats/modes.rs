//! Quantities that take one of two values: this way or that way.

use super::{mad, median, order::sorted};

/// One of the values that a quantity has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The median of the values that belong to it.
    pub center: f64,
    /// Their scatter, as [`mad`] has it.
    pub spread: f64,
    /// The share of all values that belong to it.
    pub share: f64,
}

/// Fewer values show no second mode that another sample would show again.
const FEWEST: usize = 20;
/// Fewer than this are what a disturbed machine did, not another way to go.
const SMALLEST_SHARE: f64 = 0.1;
/// How far apart the modes lie in terms of their own scatter: Ashman's D (Ashman,
/// Bird and Zepf, "Detecting bimodality in astronomical datasets", AJ 108, 1994).
/// They call modes separate above 2 where a mixture is fitted; a plain cut puts
/// the halves of one normal distribution at 2.7, and those of a uniform one at 3.5.
const APART: f64 = 6.0;
/// Modes nearer than this are one for any purpose here.
const DISTANCE: f64 = 1.1;
/// Between modes there is nothing, over this share of their distance at least.
const EMPTY: f64 = 0.25;

/// The two modes of positive values, the larger first, or `None` if there is one.
/// The cut is where the absolute deviations from the medians of both sides add up
/// to least, with a tenth of the values on either side at least.
pub fn modes(values: &[f64]) -> Option<[Mode; 2]> {
    let sorted = sorted(values);
    let n = sorted.len();
    let least = (SMALLEST_SHARE * n as f64).ceil() as usize;
    if n < FEWEST {
        return None;
    }
    let mut sums = vec![0.0];
    sorted.iter().for_each(|value| sums.push(sums[sums.len() - 1] + value));
    // Of an ascending range: what lies above the middle less what lies below it.
    let deviations = |from: usize, to: usize| {
        let half = (to - from) / 2;
        (sums[to] - sums[to - half]) - (sums[from + half] - sums[from])
    };
    let cost = |cut: usize| deviations(0, cut) + deviations(cut, n);
    let cut = (least..=n - least).min_by(|&a, &b| cost(a).total_cmp(&cost(b)))?;
    let mode = |values: &[f64]| {
        let (center, spread) = (median(values)?, mad(values)?);
        Some(Mode { center, spread, share: values.len() as f64 / n as f64 })
    };
    let (low, high) = (mode(&sorted[..cut])?, mode(&sorted[cut..])?);
    let distance = high.center - low.center;
    let own = low.spread.hypot(high.spread) / std::f64::consts::SQRT_2;
    let empty = sorted[cut] - sorted[cut - 1];
    let are_two = high.center >= DISTANCE * low.center
        && distance >= APART * own
        && empty >= EMPTY * distance;
    are_two.then_some(if low.share >= high.share { [low, high] } else { [high, low] })
}
