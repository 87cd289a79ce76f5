//! Kernels on the GPU that take more or less time.
//!
//! A kernel's own time is scaled. What the device needs to get it started, and what the call of its
//! launch costs, stays: `launch` is a knob of its own.

use super::change::Varied;
use crate::kernels::{GpuSide, Grid, OwnCost, OwnKernel, Variant};
use crate::profile::Curve;
use crate::scenario::{TaskKernel, Workload};
use crate::units::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Scales one kernel by its name, or all.
pub(super) fn scale(varied: &mut Varied, name: Option<&str>, factor: f64) -> Result<(), String> {
    if let Some(name) = name {
        let known = names(&varied.workload);
        if !known.contains(name) {
            let known: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
            return Err(format!(
                "the scenario does not use kernel `{name}`; its kernels are {}",
                known.join(", ")
            ));
        }
    }
    let is_meant = |one: &str| name.is_none_or(|name| name == one);
    let gap = varied.profile.kernel_gap().unwrap_or_default();
    for model in &mut varied.profile.kernels {
        if is_meant(model.variant.kernel.name()) {
            beyond(&mut model.time, gap, |_| factor);
            let longer = [&mut model.just_copied, &mut model.from_memory];
            longer.into_iter().flatten().for_each(|curve| curve.scale(factor));
        }
    }
    for model in &mut varied.profile.own_kernels {
        if is_meant(&model.name) {
            beyond(&mut model.time, gap, |_| factor);
        }
    }
    for_own(&mut varied.workload, &|kernel| {
        if is_meant(&kernel.name)
            && let GpuSide::Cost(cost) = &mut kernel.gpu
        {
            scale_cost(cost, factor);
        }
    });
    Ok(())
}

/// The kernels that a workload runs.
fn names(workload: &Workload) -> BTreeSet<String> {
    let tasks = workload.tasks.iter().map(|task| task.kernel.name().to_owned());
    let launched = workload.programs.iter().flat_map(|program| {
        program.calls().filter_map(|call| program.kernel_of(call).map(str::to_owned))
    });
    tasks.chain(launched).collect()
}

/// Scales what a curve has above the gap between two launches.
pub(super) fn beyond(curve: &mut Curve, gap: f64, factor: impl Fn(f64) -> f64) {
    for (elements, ns) in &mut curve.knots {
        let fixed = gap.min(*ns);
        *ns = fixed + (*ns - fixed) * factor(*elements);
    }
}

/// Changes the user's own kernels of tasks and of programs that are spelled out, and the user's own
/// CPU code for all tasks.
pub(super) fn for_own(workload: &mut Workload, change: &impl Fn(&mut OwnKernel)) {
    for task in &mut workload.tasks {
        if let TaskKernel::Own(work) = &mut task.kernel {
            change(&mut Arc::make_mut(&mut work.declared).kernel);
        }
    }
    if let Some(own) = &mut workload.own_cpu {
        change(&mut Arc::make_mut(own).kernel);
    }
    let programs = workload.programs.iter_mut();
    programs.flat_map(|program| &mut program.kernels).for_each(change);
}

pub(super) fn scale_cost(cost: &mut OwnCost, factor: f64) {
    match cost {
        OwnCost::Points(points) => {
            for (_, time) in points {
                *time = Span::from_nanos_f64(time.nanos_f64() * factor);
            }
        }
        OwnCost::Roofline { flops_per_element, bytes_per_element } => {
            *flops_per_element *= factor;
            *bytes_per_element *= factor;
        }
        OwnCost::Stated { fixed, per_element, .. } => {
            *fixed *= factor;
            *per_element *= factor;
        }
    }
}

/// Gives the GPU more or fewer multiprocessors, each of which computes and reads at the rate that
/// it has today. So a kernel with many blocks takes as many times as long as each multiprocessor
/// has more of them to run, and one with fewer blocks than there are multiprocessors takes no
/// longer.
/// Kernels side by side share what there is.
pub(super) fn scale_multiprocessors(varied: &mut Varied, factor: f64) {
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
        "Kernel times are proportional to the number of blocks per multiprocessor; memory-bound \
         kernels may change less.",
    );
}
