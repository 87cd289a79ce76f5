//! What `hallway evaluate` found, as values: the text and the JSON show the same.

use super::Origin;
use super::gate::Gate;
use super::sureness::{RangesHeld, UnsteadyLink, ranges_held};
use crate::findings::Assessment;
use crate::profile::Profile;
use crate::simulate::Draws;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Everything that is said about some scenarios on one machine.
///
/// These names are the keys of the JSON form; they are stable. Times end in
/// `_ns` and are whole nanoseconds; shares go from 0 to 1. Every key is always there: what is
/// not known, or does not apply, is `null` and never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// The profile that predictions are made from.
    pub profile: Origin,
    /// Seed of the simulated draws behind every range.
    pub seed: u64,
    /// Number of simulated draws behind every range.
    pub draws: usize,
    /// How predictions did where plans were tried on this machine. `null` if none were.
    pub ranges: Option<RangesTried>,
    /// How many measured times the ranges held. `null` if nothing was tried on this machine.
    pub ranges_held: Option<RangesHeld>,
    /// How much the rates of large copies differed between the two passes of the calibration.
    /// `null` if they agreed: otherwise something else used the link.
    pub unsteady_link: Option<UnsteadyLink>,
    /// The time that a new process takes to create a context on the GPU. It is in every
    /// `first_use_ns` of a plan on the GPU whose process has not used it before.
    pub context_ns: Option<Span>,
    /// Whether that time was measured in processes of their own. Otherwise it is of a context
    /// created next to the calibrator's, which takes less time.
    pub context_in_new_process: bool,
    /// The scenarios, in the order in which they were named, each in its parts.
    pub scenarios: Vec<Assessment>,
    /// How they compare with an earlier evaluation, if one was named.
    pub gate: Option<Gate>,
}

/// How predictions and ranges did in the trials of the calibration: small random plans, predicted
/// and run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RangesTried {
    /// The number of trials.
    pub trials: usize,
    /// Median error of the predictions, as a share of the measured time.
    pub median_error: f64,
    /// The error that 95% of the trials stayed below.
    pub p95_error: f64,
    /// The share of trials whose measured time was in the predicted range.
    pub in_range: f64,
}

impl RangesTried {
    fn of(profile: &Profile) -> Option<Self> {
        let found = profile.accuracy.as_ref()?;
        Some(Self {
            trials: found.trials,
            median_error: found.median_error,
            p95_error: found.p95_error,
            in_range: found.coverage,
        })
    }
}

impl Evaluation {
    /// Puts together what was found about scenarios.
    pub fn new(
        (origin, profile): (Origin, &Profile),
        Draws { count: draws, seed, .. }: Draws,
        scenarios: Vec<Assessment>,
    ) -> Self {
        Self {
            ranges_held: ranges_held(&origin, profile),
            profile: origin,
            seed,
            draws,
            ranges: RangesTried::of(profile),
            unsteady_link: UnsteadyLink::of(profile),
            context_ns: profile.first_context().map(|context| context.span()),
            context_in_new_process: profile.setup.new_context.is_some(),
            scenarios,
            gate: None,
        }
    }

    /// The scenarios of which nothing could be predicted.
    pub fn unanswered(&self) -> impl Iterator<Item = &str> {
        let nothing = self.scenarios.iter().filter(|one| one.plans.is_empty());
        nothing.map(|one| one.scenario.as_str())
    }
}
