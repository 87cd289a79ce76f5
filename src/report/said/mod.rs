//! Findings in words.
//!
//! Invariant: every sentence about an evaluation is made here, from the values in
//! [`findings`](crate::findings) alone, for the terminal and for pages alike.

mod answer;
mod costs;
mod how_sure;
mod limits;
mod line;
mod reasons;
mod sizes;
mod time_goes_to;
mod with_the_gpu;

pub(super) use answer::{answer, verdict};
pub(super) use costs::once;
pub(super) use how_sure::{how_sure, ranges_held};
pub(super) use limits::limits;
pub(super) use line::Line;
pub(super) use reasons::{about_plans, above_least, choice, host_threads, reasons};
pub(super) use sizes::{BREAK_EVEN, about_sizes, holds, sizes};
pub(super) use with_the_gpu::{WITH_THE_GPU, with_the_gpu};
