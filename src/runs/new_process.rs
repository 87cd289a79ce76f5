//! What a plan takes in a new process, besides its passes.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Host times of a process that was started to set a plan up and run it for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewProcessTimes {
    /// The first calls of the driver, up to a context on each GPU that the plan uses.
    pub context_ns: Span,
    /// Loading the kernel library on each GPU that runs kernels.
    pub module_ns: Span,
    /// Streams, events, memory and graphs.
    pub setup_ns: Span,
    /// Looking up the kernels, and the first pass.
    pub first_pass_ns: Span,
    /// The median of a few passes after the first.
    pub later_pass_ns: Span,
}

impl NewProcessTimes {
    /// How much longer the first pass took than a later one. Nothing if it took less.
    pub fn first_pass_more(&self) -> Span {
        let (first, later) = (self.first_pass_ns.nanos(), self.later_pass_ns.nanos());
        Span::from_nanos(first.saturating_sub(later))
    }

    /// What the process paid once: all but the time of a later pass.
    pub fn once(&self) -> Span {
        let all = self.context_ns + self.module_ns + self.setup_ns + self.first_pass_ns;
        Span::from_nanos(all.nanos().saturating_sub(self.later_pass_ns.nanos()))
    }

    /// Whether sums of them fit into a span.
    pub(super) fn are_valid(&self) -> bool {
        let Self { context_ns, module_ns, setup_ns, first_pass_ns, later_pass_ns } = self;
        let all = [context_ns, module_ns, setup_ns, first_pass_ns, later_pass_ns];
        all.iter().all(|span| span.nanos() < 1 << 55)
    }
}
