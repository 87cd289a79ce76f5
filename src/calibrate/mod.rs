//! From a machine to samples: what is measured, in which order, and when a measurement
//! has enough samples.
//!
//! Invariant: nothing here fits or predicts anything, and every time that was taken is
//! kept. Device work is timed between two events around a chain that was queued up while
//! the stream was held. So the chain runs as fast as the device can, not as fast as the
//! host issues. Only copies beside CPU work are not held back: they are few and large,
//! and take next to no time to issue.

mod calls;
mod chains;
mod conditions;
mod contention;
mod context;
mod copies;
mod course;
mod error;
mod graphs;
mod kernels;
mod member;
mod memory;
mod multi_gpu;
mod polling;
mod probe;
mod provenance;
mod round_trips;
mod run;
mod setup;
mod sizes;
mod staging;
mod stopping;
mod transfers;
mod twins;

pub use context::HOST_MEMORY;
pub use course::Course;
pub use error::{CalibrateError, OtherCourse};
pub use multi_gpu::MOST_DEVICES;
pub use provenance::provenance;
pub use run::{Progress, calibrate};
pub use transfers::managed_bytes;
