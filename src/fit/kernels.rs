//! Kernels on the device.

use super::estimator::Estimator;
use crate::kernels::Variant;
use crate::profile::{Curve, KernelModel};
use crate::samples::{DEVICE_FOOTPRINT, Quantity};

pub(super) fn kernels(estimator: &Estimator<'_>) -> Vec<KernelModel> {
    let mut variants: Vec<Variant> = estimator
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::Kernel { variant, .. } => Some(variant),
            _ => None,
        })
        .collect();
    variants.sort_unstable();
    variants.dedup();
    let curve = |wanted| {
        estimator.curve(|quantity| match quantity {
            Quantity::Kernel { variant, elements } if *variant == wanted => Some(*elements),
            _ => None,
        })
    };
    let model = |variant| {
        let time = curve(variant)?;
        // How much longer the kernel takes, over elements, than when repeated on the same data.
        let longer = |of: &dyn Fn(&Quantity) -> Option<(Variant, u64)>| {
            let of_this = |what: &Quantity| of(what).filter(|of| of.0 == variant).map(|of| of.1);
            let (knots, scatter) = estimator.points(of_this)?;
            Some(Curve { knots, scatter }.above(&time))
        };
        let just_copied = longer(&|quantity| match *quantity {
            Quantity::JustCopied { variant, elements } => Some((variant, elements)),
            _ => None,
        });
        let from_memory = longer(&|quantity| match *quantity {
            Quantity::KernelAround { variant, elements, footprint }
                if footprint >= DEVICE_FOOTPRINT =>
            {
                Some((variant, elements))
            }
            _ => None,
        });
        Some(KernelModel { variant, time, just_copied, from_memory })
    };
    variants.into_iter().filter_map(model).collect()
}
