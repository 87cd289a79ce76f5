//! Times that no schedule goes below, from what single tasks and copies take at least.
//!
//! Invariant: a bound is never above the time of what it bounds. Prices are taken not to fall with
//! the size, and what goes on beside a task or a copy is left out.

mod load;
mod path;
mod work;

pub use load::task_bound;
