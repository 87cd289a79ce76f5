//! From samples to a profile: every model is a robust summary of what was measured.
//!
//! Invariant: only calibration samples come in here, never a run of a plan. A model that the
//! samples do not support is left out of the profile, which then refuses to answer questions about
//! it.

mod arrival_tolerance;
mod chains;
mod contention;
mod device;
mod drift_correction;
mod graphs;
mod host;
mod intervals;
mod lookup;
mod polling;
mod several;
mod tolerance;
mod transfers;
mod trips;

use crate::profile::{Conditions, Profile, SCHEMA_VERSION};
use crate::samples::{Provenance, Quantity, Samples};
pub use intervals::intervals;
use lookup::Lookup;
use trips::Trips;

/// The error of fitting samples that hold no measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the samples hold no measurement: calibrate again, or add rows to the table")]
pub struct FitError;

/// Fits every model of a machine that the samples support.
///
/// # Errors
/// If there are no samples.
pub fn fit(samples: &Samples) -> Result<Profile, FitError> {
    if samples.measurements.iter().all(|measurement| measurement.times.is_empty()) {
        return Err(FitError);
    }
    let evened = drift_correction::evened_out(samples);
    let profile = fit_to(&Lookup::new(&evened), &samples.machine);
    Ok(Profile { conditions: Conditions::of(samples), ..profile })
}

fn fit_to(lookup: &Lookup<'_>, machine: &Provenance) -> Profile {
    let copies = device::copies(lookup, false);
    let calls = device::calls(lookup, &copies);
    let (kernels, twins) = (device::kernels(lookup), host::twins(lookup));
    let mut latency = device::latencies(lookup, &calls, (&copies, &kernels));
    let graph = graphs::graph_costs(lookup, &calls, (&copies, &kernels));
    let trips = Trips { lookup, latency: &latency, copies: &copies, graph: &graph };
    latency.semaphore_polling = polling::semaphore_polling(&trips);
    Profile {
        schema_version: SCHEMA_VERSION,
        machine: machine.clone(),
        staging: host::staging(lookup, &calls),
        multi_gpu: several::multi_gpu(lookup, &calls),
        hand_overs: chains::hand_overs(lookup),
        interference: transfers::interference(lookup, &copies, &kernels, &twins),
        registered_copies: device::copies(lookup, true),
        transfers: transfers::transfers(lookup),
        idle_calls: transfers::idle_calls(lookup),
        setup: transfers::setup(lookup),
        inline: trips::inline_copies(lookup, &calls),
        conditions: None,
        kernels,
        twins,
        caches: host::caches(lookup),
        memory: host::memory(lookup),
        polling: device::polling(lookup, latency.kernel_gap),
        link: device::link(lookup, &copies),
        graph,
        calls,
        latency,
        copies,
        accuracy: None,
        intervals: None,
    }
}

/// Fits a profile to each of the two passes in which the samples were taken. How far the two lie
/// apart shows how much the machine changes over time. `None` if the samples were not taken in two
/// passes.
pub fn fit_passes(samples: &Samples) -> Option<[Profile; 2]> {
    let passes = Lookup::of_passes(samples);
    let is_whole = passes.iter().all(|pass| pass.measurements().next().is_some());
    is_whole.then(|| passes.map(|pass| fit_to(&pass, &samples.machine)))
}

/// The times of one repetition of a quantity in nanoseconds, one for each sample, without the cost
/// of starting and ending a sample. Empty if the quantity was not measured.
pub fn times_of(samples: &Samples, quantity: &Quantity) -> Vec<f64> {
    Lookup::new(samples).times_of(quantity)
}
