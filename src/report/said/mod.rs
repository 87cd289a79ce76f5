//! Findings in words.
//!
//! Invariant: every sentence about an evaluation is made here, from the values in
//! [`findings`](crate::findings) alone, for the terminal and for pages alike.

mod answer;
mod costs;
mod limits;
mod reasons;
mod sizes;

pub(super) use answer::{answer, how_sure, ranges_held, verdict};
pub(super) use costs::once;
pub(super) use limits::limits;
pub(super) use reasons::{about_plans, choice, host_threads, reasons};
pub(super) use sizes::{about_sizes, sizes};

/// A sentence with a label in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub label: &'static str,
    pub text: String,
}

impl Line {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}

/// `the GPU`, or `the CPU`.
const fn side(on_cpu: bool) -> &'static str {
    if on_cpu { "the CPU" } else { "the GPU" }
}
