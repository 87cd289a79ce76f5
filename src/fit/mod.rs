//! Samples to profile: every model is a robust summary of what was measured.
//!
//! Invariant: only calibration samples come in here, never a run of a plan. A
//! model that the samples do not support is left out of the profile, which
//! then refuses to answer for it.

mod chains;
mod contention;
mod device;
mod graces;
mod graphs;
mod host;
mod intervals;
mod looks;
mod lookup;
mod moods;
mod several;
mod tolerance;
mod transfers;
mod trips;

use crate::profile::{Conditions, Profile, SCHEMA_VERSION};
use crate::samples::{Provenance, Quantity, Samples};
pub use intervals::intervals;
use looks::Trips;
use lookup::Lookup;

/// Samples that no profile comes from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no measurement in the samples: calibrate again, or add rows")]
pub struct FitError;

/// Fits every model of a machine that the samples support.
///
/// # Errors
/// If there are no samples.
pub fn fit(samples: &Samples) -> Result<Profile, FitError> {
    if samples.measurements.iter().all(|measurement| measurement.times.is_empty()) {
        return Err(FitError);
    }
    let evened = moods::evened_out(samples);
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
    latency.looks = looks::looks(&trips);
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

/// The same of each of the two passes that samples were taken in: how far a machine is from
/// itself some time later. `None` of samples that were taken in one.
pub fn fit_passes(samples: &Samples) -> Option<[Profile; 2]> {
    let passes = Lookup::of_passes(samples);
    let is_whole = passes.iter().all(|pass| pass.measurements().next().is_some());
    is_whole.then(|| passes.map(|pass| fit_to(&pass, &samples.machine)))
}

/// Nanoseconds of one repetition of a quantity, sample by sample and free of what
/// starting and ending cost; empty if it was not measured.
pub fn times_of(samples: &Samples, quantity: &Quantity) -> Vec<f64> {
    Lookup::new(samples).times_of(quantity)
}
