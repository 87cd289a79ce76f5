//! From a machine to samples: what is measured, in which order, and when a measurement has enough
//! samples.
//!
//! One file holds a mechanism: its probes, and how each is sampled. `samples`, `fit` and `profile`
//! have a file of that name where they have something of it.
//!
//! Invariant: nothing here fits or predicts anything, and every time that was taken is kept. Device
//! work is timed between two events around a chain that was queued up while the stream was held. So
//! the chain runs as fast as the device can, not as fast as the host issues. Only copies beside CPU
//! work are not held back: they are few and large, and take next to no time to issue.

mod calls;
mod chains;
mod conditions;
mod contention;
mod context;
mod copies;
mod error;
mod first_times;
mod graphs;
mod host_copies;
mod kernels;
mod library_sizes;
mod member;
mod memory;
mod memory_waits;
mod multi_gpu;
mod new_process;
mod own_kernels;
mod polling;
mod probe;
mod provenance;
mod round_trips;
mod rows;
mod run;
mod sample;
mod schedule;
mod setup;
mod sizes;
mod staging;
mod stopping;
mod transfers;
mod twins;

pub use context::HOST_MEMORY;
pub use error::{CalibrateError, OtherSchedule};
pub use first_times::first_times;
pub use library_sizes::{LibraryJob, ScenarioJob, measure_twin};
pub use multi_gpu::MOST_DEVICES;
pub use new_process::{FirstTimes, NewProcess, first_uses};
pub use own_kernels::{OwnJob, measure_own};
pub use provenance::provenance;
pub use run::calibrate;
pub use schedule::Schedule;
pub use transfers::managed_bytes;
