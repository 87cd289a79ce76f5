//! How many measured times the ranges held.

use super::Origin;
use super::words::{percent, plural};
use crate::profile::Profile;
use crate::simulate::COVERAGE;
use crate::stats::{NINE_OF_TEN, deviations_holding};
use serde::{Deserialize, Serialize};

/// How many of the times that were measured on a machine lie in their predicted ranges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RangesHeld {
    /// Their share.
    pub share: f64,
    /// How many times were measured.
    pub tries: usize,
    /// Whether these are trials of the calibration, rather than runs of a verification.
    pub of_trials: bool,
}

/// How the ranges of predictions from a profile did: in verified runs if there are at least as many
/// as the calibration had trials, for a few runs say less than these. `None` if nothing was tried.
pub fn ranges_held(origin: &Origin, profile: &Profile) -> Option<RangesHeld> {
    let trials = profile.trials();
    let in_runs = origin
        .scored
        .as_ref()
        .filter(|scored| scored.plans >= trials)
        .map(|scored| RangesHeld { share: scored.coverage, tries: scored.plans, of_trials: false });
    let in_trials = profile.accuracy.as_ref().map(|accuracy| RangesHeld {
        share: accuracy.coverage,
        tries: trials,
        of_trials: true,
    });
    in_runs.or(in_trials)
}

/// A share of held times that says nothing of the width any more.
const HARDLY_ANY: f64 = 0.05;

impl RangesHeld {
    /// Whether ranges held less than they are made for by more than chance: two standard deviations
    /// of a binomial share.
    pub fn fell_short(&self) -> bool {
        self.share < COVERAGE - 2.0 * (COVERAGE * (1.0 - COVERAGE) / self.tries as f64).sqrt()
    }

    /// How many times as wide the ranges have to be to hold what they are made for, if errors are
    /// normal deviates; 1 if they held enough.
    pub fn widening(&self) -> f64 {
        match self.fell_short() {
            true => NINE_OF_TEN / deviations_holding(self.share.max(HARDLY_ANY)),
            false => 1.0,
        }
    }

    /// What ranges held, in words.
    pub(super) fn sentence(&self) -> String {
        let what = if self.of_trials { "trial" } else { "measured run" };
        let (held, tries) = (percent(self.share), plural(self.tries as u64, what));
        match self.widening() {
            1.0 => format!("Ranges held {held} of {tries} (aim {})", percent(COVERAGE)),
            times => {
                let aim = percent(COVERAGE);
                format!("Ranges: widened {times:.1} x to hold {aim} of {tries}, not {held}")
            }
        }
    }
}
