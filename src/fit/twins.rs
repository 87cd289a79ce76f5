//! CPU twins, by where they find their data.

use super::estimator::{Estimator, pick, sized};
use crate::kernels::Variant;
use crate::profile::{TwinModel, Warmth};
use crate::samples::{Quantity, SHARED_FOOTPRINT};
use crate::units::Bytes;

pub(super) fn twins(estimator: &Estimator<'_>) -> Vec<TwinModel> {
    let variants = estimator.kinds(pick!(Quantity::Twin { variant, .. } => variant));
    let curve = |variant: Variant, found: Warmth| {
        let around = pick!(Quantity::Twin { variant: of, elements, footprint }
            if of == variant => (footprint, Bytes::new(of.bytes(elements))));
        let around = estimator.most_around(around);
        let around = |own: Bytes| match found {
            Warmth::Same => own,
            Warmth::Shared => SHARED_FOOTPRINT,
            // Nothing goes round no memory at all.
            Warmth::Memory if around <= own => Bytes::ZERO,
            Warmth::Memory => around,
        };
        estimator.curve(sized(|elements| {
            let footprint = around(Bytes::new(variant.bytes(elements)));
            Quantity::Twin { variant, elements, footprint }
        }))
    };
    let mut models = Vec::new();
    for variant in variants {
        for found in [Warmth::Same, Warmth::Shared, Warmth::Memory] {
            models.extend(curve(variant, found).map(|time| TwinModel { variant, found, time }));
        }
    }
    models
}
