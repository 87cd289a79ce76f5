//! A TOML scenario, read into a checked workload.
//!
//! Invariant: a [`Workload`] that exists is valid. Its tasks are in an order
//! that respects their dependencies, every name is resolved, every shape fits.
//! Whatever was wrong with the file came back as a [`ScenarioError`] instead.

mod brackets;
mod check;
mod error;
mod graph;
mod raw;
mod read;
mod schema;
mod task;
mod templates;
mod workload;

pub use error::ScenarioError;
pub use schema::json_schema;
pub use templates::Template;
pub use workload::{
    Buffer, BufferId, Home, HostMemory, Limits, PlanChoice, Task, TaskId, Workload,
};
