//! A part of a trace that was simulated, beside what was recorded of it.

use crate::units::Span;

/// What a simulator makes of a part of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replay {
    pub recorded: Span,
    pub simulated: Span,
    /// The median distance between the simulated start of an operation on a GPU and the recorded
    /// one, as a share of the recorded time. `None` if the GPU does nothing.
    pub starts: Option<f64>,
}

impl Replay {
    /// How far the simulated time is off, as a share of the recorded one.
    pub fn error(&self) -> f64 {
        self.simulated.nanos_f64() / self.recorded.nanos_f64().max(1.0) - 1.0
    }
}
