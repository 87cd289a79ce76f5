//! What is true of an evaluation: which plan to choose, against which other one, how sure that is,
//! what each costs, and what is not known.
//!
//! Invariant: values only. Each finding names everything that it compares, and is a field of the
//! JSON form. Sentences, tables and pages are made from these values in [`report`](crate::report),
//! and nothing is worked out there.

mod above_least;
mod assessed_plan;
mod assessment;
mod certainty;
mod comparison;
mod contender;
mod host_thread;
mod in_brief;
mod sizes;

pub use crate::search::{BorrowedCost, MissingTime};
pub use above_least::AboveLeast;
pub use assessed_plan::{
    AssessedPlan, Busy, CriticalPathShares, PinningPrices, SPELLED_OUT, TakenPrices,
};
pub use assessment::{Assessment, LeftOut, NoRoom, Simplest, titled};
pub use certainty::{Certainty, Doubt, Grade, probability_faster, same_kernels};
pub use comparison::{Comparison, Verdict};
pub use contender::{Answer, Contender};
pub use host_thread::{HeldBy, HostThread, is_waiting};
pub use in_brief::{InBrief, Turning, WhatIf};
pub use sizes::{NoThreshold, Sizes, Threshold};

use crate::stats::rounded;

/// How many times as long one takes as the other. A kernel may be stated to take no time at all.
pub fn times_as_long(one: crate::units::Span, other: crate::units::Span) -> f64 {
    one.nanos_f64().max(1.0) / other.nanos_f64().max(1.0)
}
