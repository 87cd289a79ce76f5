//! Runs plans for real, and checks their data flow without a GPU, in any order that their
//! waits allow.
//!
//! Invariant: nothing here sees a prediction or a profile. The makespan is taken by the
//! host's clock around a pass without any instrumentation.

mod data;
mod error;
mod interleave;
mod memory;
mod outputs;
mod prepared;
mod run;
mod stage;
mod trace;

pub use data::{Contents, Mismatch};
pub use error::ExecuteError;
pub use interleave::{OrderMatters, check_orders, run_in_random_order};
pub use run::{Effort, Executor, InTurn};
