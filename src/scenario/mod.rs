//! A TOML scenario, read into a checked workload.
//!
//! Invariant: a [`Workload`] that exists is valid. Its tasks are in an order
//! that respects their dependencies, every name is resolved, every shape fits.
//! Whatever was wrong with the file came back as a [`ScenarioError`] instead.

mod check;
mod defined;
mod error;
mod graph;
mod key;
mod needed;
mod own_task;
mod process;
mod raw;
mod read;
#[cfg(feature = "schema")]
mod schema;
mod source;
mod task;
mod task_kernel;
mod tasks;
mod templates;
mod words;
mod workload;
mod write;

pub use error::ScenarioError;
pub use key::{Key, Measure};
pub use needed::Needed;
#[cfg(feature = "schema")]
pub use raw::derived_schema;
pub use source::Source;
pub use task_kernel::{OwnWork, TaskKernel};
pub use tasks::{Task, TaskId, Tasks};
pub use templates::Template;
pub use words::{CpuCode, FamilyName, PlanMemory};
pub use workload::{Buffer, Home, Limits, PlanChoice, Workload};

/// The JSON Schema of scenarios, for editors. A test holds it to the types that read them.
pub const SCHEMA: &str = include_str!("../../docs/reference/scenario.schema.json");
