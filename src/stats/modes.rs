//! Quantities that take one of two values.

use super::{mad, median, order::sorted};

/// One of the two values of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The median of the samples that belong to it.
    pub center: f64,
    /// The [`mad`] of the samples that belong to it.
    pub spread: f64,
    /// The share of all samples that belong to it.
    pub share: f64,
}

/// With fewer samples, a second mode may be chance.
const FEWEST: usize = 20;
/// A smaller share is a disturbance, not a second mode.
const SMALLEST_SHARE: f64 = 0.1;
/// The least distance between modes in units of their own scatter: Ashman's D (Ashman, Bird and
/// Zepf, "Detecting bimodality in astronomical datasets", AJ 108, 1994). They call modes separate
/// above 2 where a mixture is fitted; a plain cut puts the halves of one normal distribution at
/// 2.7, and those of a uniform one at 3.5.
const APART: f64 = 6.0;
/// The least ratio between modes: closer ones count as one.
const DISTANCE: f64 = 1.1;
/// The least gap without any sample between modes, as a share of their distance.
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
    // The absolute deviations from the median of an ascending range add up to its upper half less
    // its lower half.
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
