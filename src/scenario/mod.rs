//! A TOML scenario, read into a checked workload.
//!
//! Invariant: a [`Workload`] that exists is valid. Its tasks are in an order
//! that respects their dependencies, every name is resolved, every shape fits.
//! Whatever was wrong with the file came back as a [`ScenarioError`] instead.

mod check;
mod error;
mod graph;
mod raw;
mod task;
mod workload;

pub use error::ScenarioError;
pub use workload::{
    Buffer, BufferId, Home, HostMemory, Limits, PlanChoice, Task, TaskId, Workload,
};
