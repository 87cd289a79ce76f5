//! Trials: plans of small random workloads, run along with each pass of a calibration and predicted
//! from what it found. They say how far off predictions are.
//!
//! Invariant: no model of a time is fitted to a trial; only the width of the ranges is.

mod accuracy;
mod drawn;
mod run;

pub use accuracy::{assess, assess_counted};
pub use drawn::{TRIAL_KERNELS, scenarios};
pub use run::{Round, TrialError, Trials};
