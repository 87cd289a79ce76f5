//! Runs plans for real, and their data flow in any legal order without a GPU.
//!
//! Invariant: nothing here sees a prediction or a profile. The makespan is
//! taken by the host's clock around a pass with no instrumentation in it.

mod data;
mod interleave;
mod memory;
mod prepared;
mod run;
mod stage;
mod trace;

pub use data::{Contents, Mismatch};
pub use interleave::run_in_random_order;
pub use run::{Effort, ExecuteError, Executor, InTurn};
