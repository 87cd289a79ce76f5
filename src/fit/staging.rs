//! Copies of pageable memory.

use super::estimator::{Estimator, pick, sized};
use crate::machine::Direction;
use crate::profile::{CallCosts, Curve, StagingModel, Warmth};
use crate::samples::{MOST_OF_ONE_CORE, Quantity};
use crate::stats::theil_sen;
use crate::units::Bytes;

pub(super) fn staging(estimator: &Estimator<'_>, calls: &CallCosts) -> Vec<StagingModel> {
    let around = staged_around(estimator);
    let curve = |direction, complete, found| {
        estimator.curve(sized(|bytes: Bytes| {
            let footprint = match found {
                Warmth::Same => bytes,
                Warmth::Shared if MOST_OF_ONE_CORE > bytes => MOST_OF_ONE_CORE,
                Warmth::Memory if around > bytes => around,
                // Nothing goes round no memory at all.
                Warmth::Shared | Warmth::Memory => Bytes::ZERO,
            };
            Quantity::Staged { direction, bytes, footprint, complete }
        }))
    };
    let mut models = Vec::new();
    for direction in Direction::BOTH {
        for found in [Warmth::Same, Warmth::Shared, Warmth::Memory] {
            let Some(mut until_complete) = curve(direction, true, found) else { continue };
            // "For transfers from device memory to pageable host memory, the
            // function will return only once the copy has completed" (CUDA Driver
            // API manual, "API synchronization behavior").
            let mut until_return = curve(direction, false, found)
                .or_else(|| (direction == Direction::DeviceToHost).then(|| until_complete.clone()));
            if found == Warmth::Memory {
                until_return.iter_mut().for_each(straighten);
                straighten(&mut until_complete);
            }
            // A synchronisation behind the copy saw its end, and has a cost of its own.
            for knot in &mut until_complete.knots {
                knot.1 = (knot.1 - calls.synchronize.map_or(0.0, |cost| cost.ns)).max(0.0);
            }
            models.push(StagingModel { direction, found, until_return, until_complete });
        }
    }
    models
}

/// From this size on, staging data out of memory runs at a constant rate.
const STEADY: f64 = 4.0 * 1024.0 * 1024.0;

/// Puts the large sizes on one robust line (Theil 1950, Sen 1968). Each of them takes too long to
/// be measured often, and memory is not equally busy all the time.
fn straighten(curve: &mut Curve) {
    let large: Vec<(f64, f64)> =
        curve.knots.iter().copied().filter(|knot| knot.0 >= STEADY).collect();
    let (Some(line), Some(&(first, _)), Some(&(last, _))) =
        (theil_sen(&large), large.first(), large.last())
    else {
        return;
    };
    curve.knots.retain(|knot| knot.0 < first);
    curve.knots.extend([(first, line.at(first).max(0.0)), (last, line.at(last).max(0.0))]);
}

pub(super) fn staged_around(estimator: &Estimator<'_>) -> Bytes {
    estimator.most_around(pick!(Quantity::Staged { bytes, footprint, .. } => (footprint, bytes)))
}
