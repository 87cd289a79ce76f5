//! Staging, CPU twins and memory management.

use super::FitError;
use super::lookup::Lookup;
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::profile::{CallCosts, Curve, MemoryCosts, StagingModel, TwinModel};
use crate::samples::{MemoryWork, Quantity};
use crate::units::Bytes;

pub(super) fn staging(lookup: &Lookup<'_>, calls: &CallCosts) -> Vec<StagingModel> {
    let curve = |(way, warmth, end): (Direction, bool, bool)| {
        lookup.curve(|quantity| match quantity {
            Quantity::Staged { direction, bytes, cold, complete }
                if (*direction, *cold, *complete) == (way, warmth, end) =>
            {
                Some(bytes.get())
            }
            _ => None,
        })
    };
    let mut models = Vec::new();
    for direction in Direction::BOTH {
        for cold in [false, true] {
            let both = (curve((direction, cold, false)), curve((direction, cold, true)));
            let (Some(until_return), Some(mut until_complete)) = both else { continue };
            // The end was seen by a synchronisation behind it, which has a cost of its own.
            for knot in &mut until_complete.knots {
                knot.1 = (knot.1 - calls.synchronize.ns).max(0.0);
            }
            models.push(StagingModel { direction, cold, until_return, until_complete });
        }
    }
    models
}

pub(super) fn twins(lookup: &Lookup<'_>) -> Vec<TwinModel> {
    let mut keys: Vec<(Variant, bool)> = lookup
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::Twin { variant, cold, .. } => Some((variant, cold)),
            _ => None,
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let model = |(variant, cold)| {
        twin_curve(lookup, variant, cold).map(|time| TwinModel { variant, cold, time })
    };
    keys.into_iter().filter_map(model).collect()
}

fn twin_curve(lookup: &Lookup<'_>, wanted: Variant, warmth: bool) -> Option<Curve> {
    lookup.curve(|quantity| match quantity {
        Quantity::Twin { variant, elements, cold } if (*variant, *cold) == (wanted, warmth) => {
            Some(*elements)
        }
        _ => None,
    })
}

pub(super) fn memory(lookup: &Lookup<'_>) -> Result<MemoryCosts, FitError> {
    let curve = |wanted: MemoryWork| {
        let found = lookup.curve(|quantity| match quantity {
            Quantity::Memory { work, bytes } if *work == wanted => Some(bytes.get()),
            _ => None,
        });
        found.ok_or_else(|| FitError { what: format!("memory management ({wanted:?})") })
    };
    let above = |first: MemoryWork, second: MemoryWork| {
        let (first, second) = (curve(first)?, curve(second)?);
        let extra = |&(bytes, ns): &(f64, f64)| (bytes, (ns - second.at(bytes)).max(0.0));
        Ok(Curve { knots: first.knots.iter().map(extra).collect(), scatter: first.scatter })
    };
    Ok(MemoryCosts {
        device_allocate: curve(MemoryWork::DeviceAllocate)?,
        pinned_allocate: curve(MemoryWork::PinnedAllocate)?,
        register: curve(MemoryWork::Register)?,
        first_touch: above(MemoryWork::FirstTouch, MemoryWork::SecondTouch)?,
        first_touch_team: above(MemoryWork::FirstTouchTeam, MemoryWork::SecondTouchTeam)?,
        renew: curve(MemoryWork::Renew)?,
        host_cache_bytes: host_cache(lookup),
    })
}

/// The largest array that a reduction finds in the caches again: up to there
/// it is clearly faster on the same data than on other data each time.
fn host_cache(lookup: &Lookup<'_>) -> Bytes {
    const CLEARLY: f64 = 0.85;
    let sum = Variant { kernel: Kernel::Sum, degree: 0 };
    let (Some(hot), Some(cold)) = (twin_curve(lookup, sum, false), twin_curve(lookup, sum, true))
    else {
        return Bytes::ZERO;
    };
    let faster = |&&(elements, ns): &&(f64, f64)| ns < CLEARLY * cold.at(elements);
    let largest = hot.knots.iter().filter(faster).map(|knot| knot.0).fold(0.0, f64::max);
    Bytes::of_f32(largest as u64)
}
