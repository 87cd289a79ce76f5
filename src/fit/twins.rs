//! CPU twins, by where they find their data.

use super::estimator::Estimator;
use crate::kernels::Variant;
use crate::profile::{TwinModel, Warmth};
use crate::samples::{Quantity, SHARED_FOOTPRINT};
use crate::units::Bytes;

pub(super) fn twins(estimator: &Estimator<'_>) -> Vec<TwinModel> {
    let variant_of = |quantity: &Quantity| match quantity {
        Quantity::Twin { variant, .. } => Some(*variant),
        _ => None,
    };
    let mut variants: Vec<Variant> =
        estimator.measurements().filter_map(|m| variant_of(&m.quantity)).collect();
    variants.sort_unstable();
    variants.dedup();
    let curve = |wanted: Variant, found: Warmth| {
        let around = estimator.most_around(|quantity| match quantity {
            Quantity::Twin { variant, elements, footprint } if *variant == wanted => {
                Some((*footprint, Bytes::new(variant.bytes(*elements))))
            }
            _ => None,
        });
        estimator.curve(|quantity| match quantity {
            Quantity::Twin { variant, elements, footprint } => {
                let own = Bytes::new(variant.bytes(*elements));
                let fits = match found {
                    Warmth::Same => *footprint == own,
                    Warmth::Shared => *footprint == SHARED_FOOTPRINT,
                    Warmth::Memory => *footprint == around && around > own,
                };
                (fits && *variant == wanted).then_some(*elements)
            }
            _ => None,
        })
    };
    let mut models = Vec::new();
    for variant in variants {
        for found in [Warmth::Same, Warmth::Shared, Warmth::Memory] {
            models.extend(curve(variant, found).map(|time| TwinModel { variant, found, time }));
        }
    }
    models
}
