//! In what state the device was during the calibration.

use crate::samples::{Condition, Samples};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The device's clocks and temperature as it reported them during the calibration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    pub measurements: usize,
    /// Measurements taken while clocks were held down or unusual. They count like all others.
    pub disturbed: usize,
    pub before: Option<Condition>,
    pub after: Option<Condition>,
    /// How many measurements were disturbed for each reason.
    #[serde(default)]
    pub reasons: BTreeMap<String, usize>,
}

impl Conditions {
    /// Summarises what the samples say; `None` if the device was not asked.
    pub fn of(samples: &Samples) -> Option<Self> {
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for reason in samples.measurements.iter().filter_map(|m| m.disturbed.as_ref()) {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
        Some(Self {
            measurements: samples.measurements.len(),
            disturbed: reasons.values().sum(),
            before: Some(samples.conditions.first()?.clone()),
            after: samples.conditions.last().filter(|_| samples.conditions.len() > 1).cloned(),
            reasons,
        })
    }
}
