//! Kernels of scenarios, and commands that do the same on the CPU.
//!
//! They are measured after a calibration, and nothing else is fitted to them: the models of the
//! machine are the same with them and without them.

use super::estimator::Estimator;
use crate::profile::{Curve, OwnCommandModel, OwnKernelModel};
use crate::samples::{Measurement, OwnRun, Quantity, Samples};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Whether a measurement is of something that a scenario brought along.
fn is_own(measurement: &Measurement) -> bool {
    matches!(measurement.quantity, Quantity::Own(_))
}

/// The samples of the machine alone.
pub(super) fn of_machine(samples: &Samples) -> Cow<'_, Samples> {
    if !samples.measurements.iter().any(is_own) {
        return Cow::Borrowed(samples);
    }
    let mut machine = samples.clone();
    machine.measurements.retain(|one| !is_own(one));
    Cow::Owned(machine)
}

/// The models of all kernels and commands that the samples have.
pub fn own_models(samples: &Samples) -> (Vec<OwnKernelModel>, Vec<OwnCommandModel>) {
    let mut own = samples.clone();
    own.measurements.retain(is_own);
    let (mut kernels, mut commands) = (Vec::new(), Vec::new());
    for (run, time) in curves(&Estimator::new(&own)) {
        match run.clone() {
            OwnRun::Kernel {
                name,
                kernel,
                numbers,
                registers_per_thread,
                shared_bytes_per_block,
                ..
            } => kernels.push(OwnKernelModel {
                name,
                kernel,
                numbers,
                registers_per_thread,
                shared_bytes_per_block,
                time,
            }),
            OwnRun::Command { name, command, .. } => {
                commands.push(OwnCommandModel { name, command, time });
            }
            OwnRun::Library { .. } | OwnRun::Twin { .. } => {}
        }
    }
    (kernels, commands)
}

/// A curve for whatever was run, in the order of digests, so that each model has its place. It goes
/// through every size that was measured: a scenario asks for just these.
fn curves<'s>(estimator: &Estimator<'s>) -> Vec<(&'s OwnRun, Curve)> {
    let mut found: BTreeMap<(&str, &str), &OwnRun> = BTreeMap::new();
    for measurement in estimator.measurements() {
        if let Quantity::Own(run) = &measurement.quantity
            && let Some((key, _)) = key_of(run)
        {
            found.insert(key, run);
        }
    }
    let curve = |(key, run): ((&str, &str), &'s OwnRun)| {
        let (knots, scatter) = estimator.points(|quantity| match quantity {
            Quantity::Own(other) => key_of(other).filter(|one| one.0 == key).map(|one| one.1),
            _ => None,
        })?;
        Some((run, Curve { knots, scatter }))
    };
    found.into_iter().filter_map(curve).collect()
}

/// What a run is of, and its elements. Runs of the library belong to the library's curves.
fn key_of(run: &OwnRun) -> Option<((&str, &str), u64)> {
    match run {
        OwnRun::Kernel { kernel, numbers, elements, .. } => Some(((kernel, numbers), *elements)),
        OwnRun::Command { command, elements, .. } => Some(((command, ""), *elements)),
        OwnRun::Library { .. } | OwnRun::Twin { .. } => None,
    }
}
