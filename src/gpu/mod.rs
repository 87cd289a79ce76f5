//! The device: the only room that names cudarc.
//!
//! Invariants: nothing here panics on a machine without a driver, a device or
//! NVRTC; it answers with a [`GpuError`]. Calls on the timed path are exactly
//! one driver or library call each, with no context look-ups or events of their own.
//! CUDA's floating-point milliseconds become a [`crate::units::Span`] here.

mod blocker;
mod device;
mod error;
mod graph;
mod kernels;
mod libraries;
mod managed;
mod memory;
mod monitor;
mod setup;
mod stream;

pub use blocker::Blocker;
pub use device::{Description, Device};
pub use error::GpuError;
pub use graph::{ExecutableGraph, Graph};
pub use kernels::{Launch, supports};
pub use managed::{ManagedMemory, Residence};
pub use memory::{DeviceMemory, PinnedMemory, Registration};
pub use monitor::{Monitor, Place, Reading};
pub use setup::{ExtraContext, ExtraModule};
pub use stream::{Event, Stream};
