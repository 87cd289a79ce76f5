//! Whole protocols that a library user can call. There is one so far: predict, run and score.
//!
//! 1. Name the plans: those of given workloads, or those that [`draw`] draws of random ones.
//! 2. Predict all of them: [`predict`]. [`digest`] sums up the profile, the plans and what was
//!    predicted, and can be published before anything runs.
//! 3. Run them with a [`Runner`]: in random order, each run kept as it comes, in parts ([`Shard`])
//!    if need be.
//! 4. Score them: [`score`].
//!
//! Invariant: a [`Runner`] gets programs and no predictions, and its order of runs depends on a
//! seed alone. A run that was kept is never thrown away or repeated.

mod drawn;
mod predicted;
mod random_scenario;
mod runner;
mod score;
mod shard;

pub use drawn::{Drawn, draw};
pub use predicted::{Predicted, digest, predict};
pub use runner::{Event, Job, Runner, StudyError, Traced};
pub use score::score;
pub use shard::Shard;
