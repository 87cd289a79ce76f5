//! By how much one program is ahead of another, and how sure that is.

use super::Forecast;
use crate::stats::{NINE_OF_TEN, quantile, share_below};
use crate::units::Span;

/// How many times as fast one program is as another, as a logarithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// By the predicted times.
    middle: f64,
    /// In each draw of the machine.
    draws: Vec<f64>,
    /// How far the range reaches beyond the draws. Below 0: the share by which its ends are moved
    /// towards the middle.
    margin: f64,
}

/// What makes predictions less sure than their ranges say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubts {
    /// How many times as wide the ranges have to be for as many measured times as they were made
    /// to hold; at least 1.
    pub ranges_as_wide: f64,
    /// By which share copies over the link may be off because something else used it while it was
    /// measured.
    pub link: f64,
}

impl Default for Doubts {
    fn default() -> Self {
        Self { ranges_as_wide: 1.0, link: 0.0 }
    }
}

impl Lead {
    /// Between which values the true lead is, nine times out of ten.
    pub fn range(&self) -> (f64, f64) {
        let Self { middle, margin, .. } = *self;
        let end = |q: f64| quantile(&self.draws, q).unwrap_or(middle);
        let (low, high) = (end(0.05).min(middle), end(0.95).max(middle));
        if margin < 0.0 {
            let inwards = |end: f64| middle + (end - middle) * (1.0 + margin);
            return (inwards(low), inwards(high));
        }
        (low - margin, high + margin)
    }

    /// The probability that the first program is the faster one. The lead differs from its middle
    /// by what the draws say and, independently, by normal deviates: nine in ten of them are within
    /// the margin, and within `link`, what else copies over the link may be off by. What comes from
    /// the ranges is as many times as large as these have to be.
    pub fn probability(&self, ranges_as_wide: f64, link: f64) -> f64 {
        let inwards = 1.0 + self.margin.min(0.0);
        let around = (self.margin.max(0.0) * ranges_as_wide).hypot(link) / NINE_OF_TEN;
        let drawn = self.draws.iter().map(|lead| lead - self.middle);
        let leads = drawn.map(|off| self.middle + off * inwards * ranges_as_wide);
        let ahead = |lead: f64| match (around > 0.0, lead.total_cmp(&0.0)) {
            (true, _) => share_below(lead / around),
            (false, std::cmp::Ordering::Equal) => 0.5,
            (false, order) => f64::from(order.is_gt()),
        };
        match self.draws.len() {
            0 => ahead(self.middle),
            draws => leads.map(ahead).sum::<f64>() / draws as f64,
        }
    }
}

impl Forecast {
    /// By how much this is ahead of another program. Both go `runs` times through their bodies,
    /// each after something that takes as long as `before`. The draws of both are of the same
    /// machines; what the margins stand for is not, so of two that widen the range, the squares add
    /// up.
    pub fn lead_over(&self, other: &Self, before: [Span; 2], runs: u64) -> Lead {
        let lead = |mine: Span, theirs: Span| {
            let [mine, theirs] = [before[0] + mine * runs, before[1] + theirs * runs];
            (theirs.nanos_f64().max(1.0) / mine.nanos_f64().max(1.0)).ln()
        };
        let pairs = self.draws.iter().zip(&other.draws);
        let (mine, theirs) =
            (self.margin_over(before[0], runs), other.margin_over(before[1], runs));
        let widest = mine.max(theirs);
        Lead {
            middle: lead(self.makespan(), other.makespan()),
            draws: pairs.map(|(&mine, &theirs)| lead(mine, theirs)).collect(),
            margin: if widest < 0.0 { widest } else { mine.max(0.0).hypot(theirs.max(0.0)) },
        }
    }

    /// The margin of `runs` passes behind something that takes as long as `before`, on the scale of
    /// all of that time: it applies neither to what is stated nor to what comes before.
    fn margin_over(&self, before: Span, runs: u64) -> f64 {
        if self.margin < 0.0 {
            return self.margin;
        }
        let all = (before + self.makespan() * runs).nanos_f64().max(1.0);
        let measured = self.makespan().saturating_sub(self.stated) * runs;
        (measured.nanos_f64() / all * self.margin.exp_m1()).ln_1p()
    }
}
