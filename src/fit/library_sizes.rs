//! Kernels of the library at sizes that were measured for a scenario.
//!
//! They are knots of the curves that a calibration gives, or curves of arguments that no
//! calibration has.

use super::estimator::Estimator;
use crate::kernels::Variant;
use crate::profile::{Curve, KernelModel, Profile, TwinModel, Warmth};
use crate::samples::{OwnRun, Quantity, Samples};
use crate::units::Bytes;

/// The profile with the sizes that the samples have beyond the calibration's.
#[must_use]
pub fn with_library_sizes(mut profile: Profile, samples: &Samples) -> Profile {
    let mut own = samples.clone();
    own.measurements.retain(|one| of_library(&one.quantity).is_some());
    let estimator = &Estimator::new(&own);
    let found = estimator.kinds(|quantity| of_library(quantity).map(|one| one.0));
    for (variant, warmth) in found {
        let of_this = |quantity: &Quantity| {
            of_library(quantity).filter(|one| one.0 == (variant, warmth)).map(|one| one.1)
        };
        let Some((knots, scatter)) = estimator.points(of_this) else { continue };
        match warmth {
            None => {
                let models = &mut profile.kernels;
                let known = models.iter_mut().find(|model| model.variant == variant);
                match known {
                    Some(model) => extend(&mut model.time, &knots),
                    None => {
                        let time = Curve { knots, scatter };
                        let (just_copied, from_memory) = (None, None);
                        models.push(KernelModel { variant, time, just_copied, from_memory });
                    }
                }
                models.sort_by_key(|model| model.variant);
            }
            Some(found) => {
                let models = &mut profile.twins;
                let is_it =
                    |model: &&mut TwinModel| (model.variant, model.found) == (variant, found);
                match models.iter_mut().find(is_it) {
                    Some(model) => extend(&mut model.time, &knots),
                    None => {
                        models.push(TwinModel { variant, found, time: Curve { knots, scatter } })
                    }
                }
                models.sort_by_key(|model| model.variant);
            }
        }
    }
    profile
}

/// The variant and the elements of a measurement for a scenario, and on the CPU where data was.
fn of_library(quantity: &Quantity) -> Option<((Variant, Option<Warmth>), u64)> {
    match *quantity {
        Quantity::Own(OwnRun::Library { variant, elements }) => Some(((variant, None), elements)),
        Quantity::Own(OwnRun::Twin { variant, elements, footprint }) => {
            let is_own = footprint <= Bytes::new(variant.bytes(elements));
            let found = if is_own { Warmth::Same } else { Warmth::Memory };
            Some(((variant, Some(found)), elements))
        }
        _ => None,
    }
}

/// Puts knots into a curve. What was measured for a scenario stands for its size.
fn extend(curve: &mut Curve, knots: &[(f64, f64)]) {
    curve.knots.retain(|(size, _)| knots.iter().all(|(other, _)| other != size));
    curve.knots.extend_from_slice(knots);
    curve.knots.sort_by(|one, other| one.0.total_cmp(&other.0));
}
