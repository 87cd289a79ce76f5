//! From a device to samples: what is measured, in which order, and when a
//! measurement is good enough.
//!
//! Invariant: nothing here fits or predicts anything. Every figure that was
//! taken is kept. What is timed on the device is timed between two events
//! around a chain that was queued up while the stream was held, so that it
//! runs as fast as the device can and not as fast as the host issues. Only copies
//! beside work of the CPU are not: they are few and large, and issued in no time.

mod beside;
mod calls;
mod chains;
mod copies;
mod course;
mod graphs;
mod kernels;
mod memory;
mod probes;
mod rig;
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

pub use course::{Course, OtherCourse};
pub use run::{CalibrateError, Progress, calibrate, provenance};
pub use several::MOST_DEVICES;
pub use transfers::managed_bytes;
