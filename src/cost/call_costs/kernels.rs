//! What kernels keep busy on the device.

use crate::cost::analysis::Locality;
use crate::cost::multiprocessors::Blocks;
use crate::cost::work::Work;
use crate::kernels::Grid;
use crate::profile::{Profile, Unknown};
use crate::program::Step;
use crate::units::Span;

/// Clearing memory is a small kernel of the driver's own.
pub(super) fn clearing(profile: &Profile, gap: f64) -> Work {
    let limits = &profile.machine.multiprocessor;
    let blocks = Blocks::new(&Grid::ONE_BLOCK, [Span::ZERO; 2], (1, limits));
    Work::Kernel { gap: Span::from_nanos_f64(gap), blocks }
}

/// A kernel with a gap before it, in nanoseconds. Its measured time includes the usual gap between
/// kernels of a stream.
pub(super) fn kernel_work(
    profile: &Profile,
    step: &Step,
    locality: &Locality<'_>,
    gap: f64,
) -> Result<Work, Unknown> {
    let n = step.elements();
    let found = locality.on_device.copied().unwrap_or_default();
    let time = profile.kernel(step.kernel, &step.arguments, n, &found)?;
    let busy = (time.ns - profile.kernel_gap()?).max(0.0);
    let gap = gap.min(time.ns);
    let grid = Grid::of(step.kernel, &step.arguments, n);
    let busy = [busy, time.at_best].map(Span::from_nanos_f64);
    let machine = &profile.machine;
    let blocks = Blocks::new(&grid, busy, (machine.multiprocessors, &machine.multiprocessor));
    Ok(Work::Kernel { gap: Span::from_nanos_f64(gap), blocks })
}
