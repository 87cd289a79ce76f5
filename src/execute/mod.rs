//! Runs plans for real, and checks their data flow without a GPU, in any order that their
//! waits allow.
//!
//! Invariant: nothing here sees a prediction or a profile. The makespan is taken by the
//! host's clock around a pass without any instrumentation.

mod by_events;
mod by_records;
mod data;
mod effort;
mod error;
mod executor;
mod first_pass;
mod handles;
mod interleave;
mod memory;
mod movable;
mod one_stream;
mod outputs;
mod placeholder;
mod prepared;
mod run;
mod stage;

pub use data::{Contents, Mismatch};
pub use effort::Effort;
pub use error::ExecuteError;
pub use executor::Executor;
pub use first_pass::FirstPass;
pub use interleave::{OrderMatters, check_orders, in_plain_order, run_in_random_order};
pub use run::InTurn;
