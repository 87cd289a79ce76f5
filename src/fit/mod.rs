//! From samples to a profile: every model is a robust summary of what was measured.
//!
//! One file fits the models of a mechanism. `calibrate`, `samples` and `profile` have a file of
//! that name where they have something of it.
//!
//! Invariant: only calibration samples come in here, never a run of a plan. A model that the
//! samples do not support is left out of the profile, which then refuses to answer questions about
//! it.

mod arrival_tolerance;
mod caches;
mod calls;
mod chains;
mod contention;
mod copies;
mod drift_correction;
mod estimator;
mod filters;
mod graphs;
mod host_copies;
mod intervals;
mod kernels;
mod library_sizes;
mod memory;
mod multi_gpu;
mod own_kernels;
mod points;
mod polling;
mod round_trips;
mod rows;
mod setup;
mod staging;
mod transfers;
mod twins;

use crate::profile::{Conditions, Profile, SCHEMA_VERSION};
use crate::samples::{Provenance, Quantity, Samples};
use estimator::Estimator;
pub use filters::Filter;
pub use intervals::intervals;
pub use library_sizes::with_library_sizes;
pub use own_kernels::own_models;
use round_trips::Trips;
use std::borrow::Cow;

/// The error of fitting samples that hold no measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the samples contain no measurements: calibrate again, or add rows to the table")]
pub struct FitError;

/// Fits every model of a machine that the samples support.
///
/// # Errors
/// If there are no samples.
pub fn fit(samples: &Samples) -> Result<Profile, FitError> {
    fit_like(samples, &[])
}

/// Another machine's profile, with the name under which it is cited.
#[derive(Debug, Clone)]
pub struct Like {
    pub from: String,
    pub profile: Profile,
}

/// Like [`fit`]. What calls, hand-overs and the like cost and the samples do not say is borrowed
/// from other profiles, from the first one that knows it.
///
/// # Errors
/// If there are no samples.
pub fn fit_like(samples: &Samples, likes: &[Like]) -> Result<Profile, FitError> {
    let profile = fit_machine(samples, likes, &[])?;
    Ok(likes.iter().fold(profile, |profile, like| profile.like(&like.profile, &like.from)))
}

/// Like [`fit`], without some filters, to see what they are worth. Kernels of the user's own and
/// sizes of a library are fitted with all filters.
///
/// # Errors
/// If there are no samples.
pub fn fit_without(samples: &Samples, off: &[Filter]) -> Result<Profile, FitError> {
    fit_machine(samples, &[], off)
}

/// Fits what the samples themselves show. Calls of `likes` help to tell other times from the calls
/// in them, where the samples lack calls of their own.
fn fit_machine(samples: &Samples, likes: &[Like], off: &[Filter]) -> Result<Profile, FitError> {
    if samples.measurements.iter().all(|measurement| measurement.times.is_empty()) {
        return Err(FitError);
    }
    let of_machine = own_kernels::of_machine(samples);
    let evened = match off.contains(&Filter::Drift) {
        true => Cow::Borrowed(&*of_machine),
        false => drift_correction::evened_out(&of_machine),
    };
    let profile = fit_to(&Estimator::without(&evened, off), &samples.machine, likes);
    let (own_kernels, own_commands) = own_models(samples);
    let conditions = Conditions::of(&of_machine);
    let profile = Profile { conditions, own_kernels, own_commands, ..profile };
    let mut profile = with_library_sizes(profile, samples);
    if !off.contains(&Filter::Fallen) {
        profile.bring_down_fallen_times();
    }
    Ok(profile)
}

fn fit_to(estimator: &Estimator<'_>, machine: &Provenance, likes: &[Like]) -> Profile {
    let copies = copies::copies(estimator);
    let own_calls = calls::calls(estimator, &copies);
    // Times of other work have calls in them, of which only the calls' own cost rids them.
    let calls = likes.iter().fold(own_calls.clone(), |calls, one| calls.or(&one.profile.calls));
    let (kernels, twins) = (kernels::kernels(estimator), twins::twins(estimator));
    let mut latency = round_trips::latencies(estimator, &calls, (&copies, &kernels));
    let graph = graphs::graph_costs(estimator, &calls, (&copies, &kernels));
    let trips =
        Trips { estimator, latency: &latency, copies: &copies, kernels: &kernels, graph: &graph };
    latency.semaphore_polling = polling::semaphore_polling(&trips);
    // Borrowed calls helped to fit; they must not pass for the machine's own.
    latency.wake_host = own_calls.synchronize;
    Profile {
        schema_version: SCHEMA_VERSION,
        model_error: None,
        machine: machine.clone(),
        inline: round_trips::inline_copies(estimator, &calls),
        polling: polling::polling(estimator, latency.kernel_gap),
        hand_overs: chains::hand_overs(estimator),
        link: contention::link(estimator, &copies),
        interference: contention::interference(estimator, &copies, &kernels, &twins),
        staging: staging::staging(estimator, &calls),
        transfers: transfers::transfers(estimator),
        rows: rows::rows(estimator),
        host_copies: host_copies::host_copies(estimator),
        caches: caches::caches(estimator),
        memory: memory::memory(estimator),
        own_kernels: Vec::new(),
        own_commands: Vec::new(),
        setup: setup::setup(estimator),
        multi_gpu: multi_gpu::multi_gpu(estimator, &calls),
        calls: own_calls,
        latency,
        graph,
        copies,
        kernels,
        twins,
        conditions: None,
        accuracy: None,
        intervals: None,
        borrowed: Vec::new(),
        switched_off: Vec::new(),
    }
}

/// Fits a profile to each of the two passes in which the samples were taken. How far the two lie
/// apart shows how much the machine changes over time. `None` if the samples were not taken in two
/// passes.
pub fn fit_passes(samples: &Samples) -> Option<[Profile; 2]> {
    let samples = own_kernels::of_machine(samples);
    let passes = Estimator::of_passes(&samples);
    let is_whole = passes.iter().all(|pass| pass.measurements().next().is_some());
    is_whole.then(|| passes.map(|pass| fit_to(&pass, &samples.machine, &[])))
}

/// The times of one repetition of a quantity in nanoseconds, one for each sample, without the cost
/// of starting and ending a sample. Empty if the quantity was not measured.
pub fn times_of(samples: &Samples, quantity: &Quantity) -> Vec<f64> {
    Estimator::new(samples).times_of(quantity)
}
