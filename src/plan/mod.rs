//! A plan is a program: the ordered host API calls that carry out a workload,
//! each naming its stream, its memory and its byte ranges.
//!
//! Invariant: a [`Plan`] is a plain value. The simulator and the executor read
//! the same one, so a prediction and a run are of the same calls. [`build`]
//! makes only plans that pass [`check_hazards`] and fit the workload's limits.

mod ashore;
mod builder;
mod capacity;
mod chunk;
mod families;
mod graph;
mod hazards;
mod partials;
mod program;
mod shared;
mod strategy;

pub use capacity::{Capacities, DoesNotFit, Whose, check_fits};
pub use families::{Refusal, build};
pub use graph::{Before, Behind, Graph};
pub use hazards::{Hazard, check_hazards};
pub use program::{
    Allocation, AllocationId, Call, DeviceId, Direction, EventId, Place, Plan, Slice, Step,
    StreamId, StreamKind, StreamTraits,
};
pub use strategy::{Each, Family, Issue, Spread, Strategy};
