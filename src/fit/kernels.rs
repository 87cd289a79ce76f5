//! Kernels on the device.

use super::estimator::{Estimator, pick, sized};
use crate::profile::{Curve, KernelModel};
use crate::samples::{DEVICE_FOOTPRINT, Quantity};

pub(super) fn kernels(estimator: &Estimator<'_>) -> Vec<KernelModel> {
    let variants = estimator.kinds(pick!(Quantity::Kernel { variant, .. } => variant));
    let model = |variant| {
        let time = estimator.curve(sized(|elements| Quantity::Kernel { variant, elements }))?;
        // How much longer the kernel takes, over elements, than when repeated on the same data.
        let longer = |of: &dyn Fn(u64) -> Quantity| {
            let (knots, scatter) = estimator.points(sized(of))?;
            Some(Curve { knots, scatter }.above(&time))
        };
        let just_copied = longer(&|elements| Quantity::JustCopied { variant, elements });
        let footprint = DEVICE_FOOTPRINT;
        let from_memory =
            longer(&|elements| Quantity::KernelAround { variant, elements, footprint });
        Some(KernelModel { variant, time, just_copied, from_memory })
    };
    variants.into_iter().filter_map(model).collect()
}
