//! Samples to profile: every model is a robust summary of what was measured.
//!
//! Invariant: only calibration samples come in here, never a run of a plan. A
//! model that the samples do not support is left out of the profile, which
//! then refuses to answer for it.

mod chains;
mod device;
mod host;
mod lookup;

use crate::profile::{Profile, SCHEMA_VERSION};
use crate::samples::Samples;
use lookup::Lookup;

/// Samples without which there is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the samples have no usable measurement of {what}; calibrate again")]
pub struct FitError {
    what: String,
}

/// Fits every model of a machine.
///
/// # Errors
/// If a measurement is missing that every prediction needs.
pub fn fit(samples: &Samples) -> Result<Profile, FitError> {
    let lookup = Lookup::new(samples);
    let calls = device::calls(&lookup)?;
    let latency = device::latencies(&lookup, &calls)?;
    let copies = device::copies(&lookup);
    let link = device::link(&lookup, &copies)?;
    Ok(Profile {
        schema_version: SCHEMA_VERSION,
        machine: samples.machine.clone(),
        staging: host::staging(&lookup, &calls),
        hand_overs: chains::hand_overs(&lookup)?,
        kernels: device::kernels(&lookup),
        twins: host::twins(&lookup),
        caches: host::caches(&lookup),
        memory: host::memory(&lookup)?,
        polling: device::polling(&lookup, latency.kernel_gap),
        calls,
        latency,
        link,
        copies,
    })
}
