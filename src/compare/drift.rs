//! Has the machine changed? Compares one quantity's times of two sittings.

use crate::stats::{median, median_interval, relative_spread};

/// Whether a quantity has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Same,
    Changed,
    /// The samples do not settle it.
    Unsure,
}

/// A quantity's median times, before and now, and whether they differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Medians in nanoseconds.
    pub before: f64,
    pub now: f64,
    /// The share by which the median may differ and still be the same.
    pub margin: f64,
    pub answer: Answer,
}

/// A change of less than this share does not matter to a prediction.
const MARGIN: f64 = 0.05;
/// On a machine that scatters more, the margin is so many times its earlier relative scatter.
const SCATTERS: f64 = 2.0;
/// Confidence of the interval around each median.
const CONFIDENCE: f64 = 0.99;

impl Drift {
    /// Compares times in nanoseconds by the interval in which the ratio of the two
    /// medians lies: between the ends of their 99% intervals, so with 98% at
    /// least. *Same* if all of it is within the margin, *changed* if none of it
    /// is, and *unsure* otherwise: a test of equivalence rather than of a
    /// difference, which enough samples always find (Schuirmann, "A comparison of
    /// the two one-sided tests procedure", J. Pharmacokinet. Biopharm. 15, 1987).
    ///
    /// `None` without positive times on both sides.
    pub fn between(before: &[f64], now: &[f64]) -> Option<Self> {
        let medians = (median(before)?, median(now)?);
        if medians.0 <= 0.0 || medians.1 <= 0.0 {
            return None;
        }
        let margin = MARGIN.max(SCATTERS * relative_spread(before)?);
        let intervals = (median_interval(before, CONFIDENCE), median_interval(now, CONFIDENCE));
        let answer = match intervals {
            (Some(before), Some(now)) if before.0 > 0.0 => {
                let (low, high) = (now.0 / before.1, now.1 / before.0);
                let same = 1.0 / (1.0 + margin)..=1.0 + margin;
                match (same.contains(&low), same.contains(&high)) {
                    (true, true) => Answer::Same,
                    _ if high < *same.start() || low > *same.end() => Answer::Changed,
                    _ => Answer::Unsure,
                }
            }
            _ => Answer::Unsure,
        };
        Some(Self { before: medians.0, now: medians.1, margin, answer })
    }

    /// How much longer it takes now: a share, negative where it takes less.
    pub fn change(&self) -> f64 {
        self.now / self.before - 1.0
    }
}
