//! From a workload to candidate plans and the best of them.
//!
//! Invariant: candidates depend on the workload and the number of GPUs alone, never on what a
//! profile says they cost, so that two machines are asked about the same plans. Only shares of the
//! CPU and better plans near the best are found with a profile, in `refine`, and schedules of
//! tasks, in `scheduled`: these are programs, so another machine can be asked about the same one.

mod borrowed;
mod bounds;
mod break_even;
mod candidates;
mod contests;
mod deciding_time;
mod fastest;
mod halving;
mod ranking;
mod recorded;
mod refine;
mod room;
mod scaling;
mod scheduled;
mod sweep;
mod turns;

pub use borrowed::{BorrowedCost, BorrowedRange};
pub use bounds::task_bound;
pub use break_even::{BreakEven, break_even, break_even_counted};
pub use candidates::{Candidates, Plan, Simplicity, candidates, candidates_over, on_request};
pub use contests::contests;
pub use deciding_time::{MissingTime, deciding_times};
pub use fastest::{AtSize, by_size, lead, rank_finalists};
pub use halving::halved;
pub use ranking::{Ranked, Ranking, is_clearly_less, rank, rank_counted};
pub use refine::candidates_for;
pub use room::{Shortage, shortages};
pub use scaling::scaled;
pub use sweep::{Compared, Sweep, Swept, values_between, wins_of};
pub use turns::{Scale, Setting, Turn, Wins};
