//! How sure the parameters of a profile are.

use super::parameters::Parameter;
use serde::{Deserialize, Serialize};
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
#[serde(deny_unknown_fields, try_from = "RawIntervals")]
pub struct Intervals {
    /// Half widths, in the parameter's unit, by [`Parameter::name`]: one for each
    /// point.
    pub half_widths: BTreeMap<String, Vec<f64>>,
}

/// Intervals as a file has them, before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIntervals {
    half_widths: BTreeMap<String, Vec<f64>>,
}

impl TryFrom<RawIntervals> for Intervals {
    type Error = &'static str;

    fn try_from(RawIntervals { half_widths }: RawIntervals) -> Result<Self, Self::Error> {
        if half_widths.values().flatten().all(|width| (0.0..1e18).contains(width)) {
            Ok(Self { half_widths })
        } else {
            Err("the half widths of intervals must be numbers of at least 0")
        }
    }
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
