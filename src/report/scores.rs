//! How predictions from a profile did for the plans that were run on its machine, kept beside the
//! runs so that later answers can say it.

use super::verification::Verification;
use crate::compare::ErrorFigures;
use serde::{Deserialize, Serialize};

/// The scores of one verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Version of this form.
    hallway_scores: u32,
    /// Start of the calibration that the profile is from, in seconds since 1970.
    calibration_unix_time: Option<u64>,
    scenarios: Vec<String>,
    #[serde(flatten)]
    errors: ErrorFigures,
}

const FORM: u32 = 1;

impl Scores {
    /// What a verification says over all of its scenarios. `None` if no plan was scored.
    pub fn of(verification: &Verification) -> Option<Self> {
        Some(Self {
            hallway_scores: FORM,
            calibration_unix_time: verification.profile.calibration_unix_time,
            scenarios: verification.scenarios.iter().map(|one| one.scenario.clone()).collect(),
            errors: verification.overall?,
        })
    }

    /// The number of plans that were scored.
    pub fn plans(&self) -> usize {
        self.errors.plans
    }

    /// The JSON form, with a newline at its end.
    pub fn json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("scores are plain data");
        json + "\n"
    }

    /// The errors in what [`json`](Self::json) wrote. `None` if it is something else, or of another
    /// calibration: then nothing is known of this one.
    pub fn read(text: &str, calibration_unix_time: Option<u64>) -> Option<ErrorFigures> {
        let Self { hallway_scores, calibration_unix_time: at, errors, .. } =
            serde_json::from_str(text).ok()?;
        (hallway_scores == FORM && at == calibration_unix_time).then_some(errors)
    }
}
