//! A GPU with more or fewer multiprocessors.
//!
//! Each multiprocessor computes and reads at the rate that it has today. So a kernel with many
//! blocks takes as many times as long as each multiprocessor has more of them to run, and one with
//! fewer blocks than there are multiprocessors takes no longer. Kernels side by side share what
//! there is.

use super::kernels::{beyond, for_own, scale_cost};
use super::varied::Varied;
use crate::kernels::{GpuSide, Grid, OwnCost, Variant};

pub(super) fn scale(varied: &mut Varied, factor: f64) {
    let profile = &mut varied.profile;
    let before = f64::from(profile.machine.multiprocessors.max(1));
    // Times follow the factor exactly, whole multiprocessors as nearly as they can.
    let after = before * factor;
    profile.machine.multiprocessors = after.round().max(1.0) as u32;
    let gap = profile.kernel_gap().unwrap_or_default();
    let slower = |variant: Variant, elements: f64| {
        let grid = Grid::of(variant.kernel, &variant.arguments(), elements as u64);
        let each = |multiprocessors: f64| (f64::from(grid.blocks) / multiprocessors).max(1.0);
        each(after) / each(before)
    };
    for model in &mut profile.kernels {
        beyond(&mut model.time, gap, |elements| slower(model.variant, elements));
        for curve in [&mut model.just_copied, &mut model.from_memory].into_iter().flatten() {
            beyond(curve, 0.0, |elements| slower(model.variant, elements));
        }
    }
    for model in &mut profile.own_kernels {
        beyond(&mut model.time, gap, |_| 1.0 / factor);
    }
    for_own(&mut varied.workload, &|kernel| {
        // A roofline's ceilings were scaled above.
        if let GpuSide::Cost(cost @ (OwnCost::Points(_) | OwnCost::Stated { .. })) = &mut kernel.gpu
        {
            scale_cost(cost, 1.0 / factor);
        }
    });
    varied.assume(
        "The time of kernels is proportional to the number of blocks per multiprocessor; \
         kernels bound by GPU memory may change less.",
    );
}
