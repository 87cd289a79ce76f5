//! What makes predictions less sure than their ranges say.

/// By how much predictions from a profile may be off beyond their ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubts {
    /// How many times as wide the ranges have to be for as many measured times as they were made
    /// to hold; at least 1.
    pub ranges_as_wide: f64,
    /// By which share copies over the link may be off because something else used it while it was
    /// measured.
    pub link: f64,
}

impl Default for Doubts {
    fn default() -> Self {
        Self { ranges_as_wide: 1.0, link: 0.0 }
    }
}
