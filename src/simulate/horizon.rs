//! How far simulated time goes.

use crate::cost::CompileError;
use crate::profile::Unknown;
use crate::units::{Instant, Span};

/// The time of a pass, if it was simulated to its end.
pub(super) fn within_horizon(makespan: Span) -> Result<Span, CompileError> {
    if makespan < Span::LONGEST {
        return Ok(makespan);
    }
    let longest = Instant::HORIZON.since_start().in_years();
    Err(Unknown::refused(format!("a run of more than {longest}")).into())
}
