//! A quick calibration measures fewer sizes, but its profile answers what that of a full
//! one does.

use super::predicted::{FITTED, SAMPLES, scenarios};
use hallway::calibrate::Schedule;
use hallway::fit::fit;
use hallway::gpu::supports;
use hallway::profile::{GraphCosts, Profile};
use hallway::samples::{CalibrationExtent, Provenance, Quantity, Samples, TransferPath};
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::simulate::simulate;
use hallway::stats::quantile;
use hallway::units::{Bytes, Span};
use std::collections::BTreeSet;

/// The part of these samples that a quick calibration would have taken: one pass, and half
/// the time for each measurement.
fn quick(full: &Samples) -> Samples {
    let machine = Provenance { extent: CalibrationExtent::Quick, ..full.machine.clone() };
    let schedule = Schedule::new(&machine);
    let mut wanted: BTreeSet<(Quantity, usize)> = BTreeSet::new();
    for probe in schedule.quantities() {
        let count = probe.iter().filter(|quantity| **quantity == probe[0]).count();
        wanted.extend(probe.into_iter().map(|quantity| (quantity.clone(), count)));
    }
    let all = Schedule::new(&full.machine);
    let all: BTreeSet<&Quantity> = all.quantities().flatten().collect();
    assert!(
        wanted.iter().all(|(quantity, _)| all.contains(quantity)),
        "a quick calibration measures something that a full one does not"
    );
    let mut measurements = Vec::new();
    for (quantity, count) in wanted {
        let found = full.measurements.iter().filter(|m| m.quantity == quantity).take(count);
        measurements.extend(found.cloned().map(|mut one| {
            one.times.truncate((one.times.len() / 2).max(5));
            one
        }));
    }
    Samples { measurements, ..Samples::none(machine) }
}

#[test]
fn a_quick_calibration_takes_a_small_part_of_the_time() {
    let time = |samples: &Samples| -> Span {
        samples.measurements.iter().flat_map(|measurement| &measurement.times).copied().sum()
    };
    let (all, some) = (time(&SAMPLES), time(&quick(&SAMPLES)));
    // 15 s of 90 s.
    assert!(some.nanos_f64() < all.nanos_f64() / 6.0, "{some} of {all}");
}

#[test]
fn managed_memory_is_measured_where_it_was_asked_for() {
    let sizes = |managed_bytes| -> Vec<Bytes> {
        let schedule = Schedule::new(&Provenance { managed_bytes, ..SAMPLES.machine.clone() });
        let quantities = schedule.quantities().flatten();
        let managed = quantities.filter_map(|quantity| match quantity {
            Quantity::Transfer { path, bytes } if TransferPath::MANAGED.contains(path) => {
                Some(*bytes)
            }
            _ => None,
        });
        managed.collect()
    };
    assert_eq!(sizes(Bytes::ZERO), []);
    let some = sizes(Bytes::mib(32));
    assert!(some.len() >= 2 * TransferPath::MANAGED.len(), "{some:?}");
    assert_eq!(some.iter().max(), Some(&Bytes::mib(16)));
    assert_eq!(sizes(Bytes::mib(256)).iter().max(), Some(&Bytes::mib(256)));
}

#[test]
fn a_quick_calibration_predicts_like_a_full_one() {
    let (full, quick) = (&*FITTED, fit(&quick(&SAMPLES)).expect("samples"));
    let mut differences = Vec::new();
    for path in scenarios(&[""]) {
        let workload = Workload::load(&path).expect("valid");
        // A calibration of this machine would lack these kernels.
        if workload
            .tasks
            .iter()
            .any(|task| task.kernel.library().is_none_or(|(kernel, _)| supports(kernel).is_err()))
        {
            continue;
        }
        let plans = candidates(&workload).programs().into_iter();
        // The committed samples may be older than hallway's graphs.
        let knows_graphs = full.graph != GraphCosts::default();
        for plan in plans.filter(|plan| knows_graphs || !plan.has_graphs()) {
            let time =
                |profile: &Profile| simulate(&plan, profile).map(|timeline| timeline.makespan);
            let full = time(full).expect("calibrated").nanos_f64();
            let quick = time(&quick).unwrap_or_else(|e| panic!("{}: {e}", plan.label));
            differences.push((quick.nanos_f64() / full - 1.0).abs());
        }
    }
    let [middle, most] = [0.5, 0.95].map(|q| quantile(&differences, q).expect("plans"));
    assert!(middle < 0.02 && most < 0.15, "{middle} and {most} off");
}
