//! From a machine to samples: what is measured, in which order, and when a measurement
//! has enough samples.
//!
//! Invariant: nothing here fits or predicts anything, and every time that was taken is
//! kept. Device work is timed between two events around a chain that was queued up while
//! the stream was held. So the chain runs as fast as the device can, not as fast as the
//! host issues. Only copies beside CPU work are not held back: they are few and large,
//! and take next to no time to issue.

mod beside;
mod calls;
mod chains;
mod context;
mod copies;
mod course;
mod error;
mod graphs;
mod kernels;
mod member;
mod memory;
mod probes;
mod run;
mod setup;
mod several;
mod sizes;
mod staging;
mod stopping;
mod transfers;
mod turns;
mod twins;
mod watch;

pub use context::HOST_MEMORY;
pub use course::Course;
pub use error::{CalibrateError, OtherCourse};
pub use run::{Progress, calibrate, provenance};
pub use several::MOST_DEVICES;
pub use transfers::managed_bytes;
