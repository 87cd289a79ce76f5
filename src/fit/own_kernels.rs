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
    let estimator = &Estimator::new(&own);
    (own_kernels(estimator), own_commands(estimator))
}

fn own_kernels(estimator: &Estimator<'_>) -> Vec<OwnKernelModel> {
    // Keys in order of digests, so that each model has its place.
    let mut found: BTreeMap<(&str, &str), (&str, [u32; 2])> = BTreeMap::new();
    for measurement in estimator.measurements() {
        if let Quantity::Own(OwnRun::Kernel {
            name,
            kernel,
            numbers,
            registers_per_thread,
            shared_bytes_per_block,
            ..
        }) = &measurement.quantity
        {
            let takes = [*registers_per_thread, *shared_bytes_per_block];
            found.insert((kernel, numbers), (name, takes));
        }
    }
    let model = |((of, with), (name, takes)): ((&str, &str), (&str, [u32; 2]))| {
        let time = curve(estimator, |quantity| match quantity {
            Quantity::Own(OwnRun::Kernel { kernel, numbers, elements, .. })
                if kernel == of && numbers == with =>
            {
                Some(*elements)
            }
            _ => None,
        })?;
        let [registers_per_thread, shared_bytes_per_block] = takes;
        Some(OwnKernelModel {
            name: name.to_owned(),
            kernel: of.to_owned(),
            numbers: with.to_owned(),
            registers_per_thread,
            shared_bytes_per_block,
            time,
        })
    };
    found.into_iter().filter_map(model).collect()
}

fn own_commands(estimator: &Estimator<'_>) -> Vec<OwnCommandModel> {
    let mut found: BTreeMap<&str, &str> = BTreeMap::new();
    for measurement in estimator.measurements() {
        if let Quantity::Own(OwnRun::Command { name, command, .. }) = &measurement.quantity {
            found.insert(command, name);
        }
    }
    let model = |(of, name): (&str, &str)| {
        let time = curve(estimator, |quantity| match quantity {
            Quantity::Own(OwnRun::Command { command, elements, .. }) if command == of => {
                Some(*elements)
            }
            _ => None,
        })?;
        Some(OwnCommandModel { name: name.to_owned(), command: of.to_owned(), time })
    };
    found.into_iter().filter_map(model).collect()
}

/// A curve through every size that was measured: a scenario asks for just these.
fn curve(estimator: &Estimator<'_>, key: impl Fn(&Quantity) -> Option<u64>) -> Option<Curve> {
    let (knots, scatter) = estimator.points(key)?;
    Some(Curve { knots, scatter })
}
