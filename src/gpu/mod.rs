//! The device: the only room that names cudarc, behind traits that another vendor's device can
//! implement as well ([`AnyDevice`] and those that it names).
//!
//! Invariants: on a machine without a driver, a device or NVRTC, nothing here panics; the
//! answer is a [`GpuError`]. A call on the timed path is exactly one driver or library
//! call: it looks up no context and records no event of its own. CUDA reports elapsed
//! times in floating-point milliseconds; they become a [`crate::units::Span`] here.

mod alike_calls;
mod blocker;
mod cuda;
mod description;
mod device;
mod error;
mod graph;
mod launch;
mod libraries;
mod memory;
mod module;
mod monitor;
mod own;
mod records;
mod rows;
mod setup;
mod stand_in;
mod stream;
mod survey;
mod vendor;

pub use alike_calls::alike_calls;
pub use blocker::Blocker;
pub use description::Description;
pub use device::Device;
pub use error::{GpuError, GpuResult};
pub use graph::{ExecutableGraph, Graph};
pub use launch::{Launch, supports};
pub use memory::{DeviceMemory, ManagedMemory, PinnedMemory, PooledMemory, Registration};
pub use monitor::{Affinity, Monitor};
pub use records::Recorder;
pub use rows::{RowShape, RowSide};
pub use setup::NewModule;
pub use stream::{Event, Stream};
pub use survey::CudaLibrary;
pub use vendor::{
    AnyBlocker, AnyDevice, AnyEvent, AnyGraph, AnyMemory, AnyRecorder, AnyRegistration, AnyStream,
    Record, Work,
};
