//! What is wrong with a program that is spelled out, where, and how to mend it.

use std::ops::Range;

/// A mistake at a place in a text, before the name of its file is known.
#[derive(Debug, Clone)]
pub struct Mistake {
    pub message: String,
    /// Places in bytes of the text, each with a word or two to show there. The first is the
    /// mistake's; others are of what it disagrees with.
    pub labels: Vec<(Range<usize>, String)>,
    /// The fix.
    pub help: String,
}

impl Mistake {
    pub(super) fn new(
        message: impl Into<String>,
        span: Range<usize>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { message: message.into(), labels: vec![(span, label.into())], help: help.into() }
    }

    /// Also points at a second place.
    pub(super) fn and(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }
}
