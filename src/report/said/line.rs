//! A line of findings, and what the sides are called in it.

use crate::machine::Side;

/// A sentence with a label in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Line {
    pub label: &'static str,
    pub text: String,
}

impl Line {
    pub(super) fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}

/// `the GPU`, or `the CPU`.
pub(super) const fn side(on_cpu: bool) -> &'static str {
    if on_cpu { "the CPU" } else { "the GPU" }
}

/// A side with its time.
pub(super) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Cpu => "CPU",
        Side::Gpu => "GPU",
        Side::Both => "CPU+GPU",
    }
}

/// A side as the subject of a sentence.
pub(super) const fn subject(side: Side) -> &'static str {
    match side {
        Side::Cpu => "the CPU",
        Side::Gpu => "the GPU",
        Side::Both => "sharing the work",
    }
}
