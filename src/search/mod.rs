//! From a workload to candidate plans and the best of them.
//!
//! Invariant: candidates depend on the workload alone, never on a profile, so
//! that two machines are asked about the same plans.

mod break_even;
mod candidates;
mod ranking;

pub use break_even::{BreakEven, break_even};
pub use candidates::{Candidates, candidates};
pub use ranking::{Ranked, Ranking, rank};
