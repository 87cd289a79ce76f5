//! How sure the parameters of a profile are.

use super::parameters::Parameter;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// 95% intervals around the parameters that were measured in both passes of a calibration. Another
/// calibration of the machine in the same sitting finds 19 of 20 parameters inside, counted over
/// all parameters of a kind, as long as the machine changes no more between calibrations than
/// between passes.
///
/// The samples determine them, and the profile has them all the same. A profile is used without its
/// samples: `compare` takes any two files, and `evaluate` says whether the link was steady. To find
/// the intervals anew takes a fit for each of 32 draws, which is seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Half widths, in the parameter's unit, by [`Parameter::name`]: one for each point.
    #[serde(deserialize_with = "widths")]
    pub half_widths: HalfWidths,
}

type HalfWidths = BTreeMap<String, Vec<f64>>;

fn widths<'de, D: Deserializer<'de>>(from: D) -> Result<HalfWidths, D::Error> {
    let widths = HalfWidths::deserialize(from)?;
    let are_right = widths.values().flatten().all(|width| (0.0..1e18).contains(width));
    let wrong = "the half-widths of intervals must be at least 0";
    are_right.then_some(widths).ok_or_else(|| D::Error::custom(wrong))
}

impl Intervals {
    /// The half widths of the intervals around a parameter, one for each size; `None` if it was not
    /// measured in both passes.
    pub fn around(&self, parameter: &Parameter) -> Option<Parameter> {
        let widths = self.half_widths.get(&parameter.name)?;
        let sizes = parameter.points.iter().map(|point| point.0);
        let points = sizes.zip(widths.iter().copied()).collect();
        Some(Parameter { points, ..parameter.clone() })
    }
}
