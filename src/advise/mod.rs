//! What would help a program: rewritings that compute the same, predicted, ranked and combined.
//!
//! A [`Remedy`] is one way to rewrite a program, with a file of its own in `remedies`. It says what
//! it changes, under which conditions the rewritten program does the same, and where it must not
//! apply. `missing_waits` puts in the waits that a rewritten program needs, `proof` holds it
//! against the program that it came from, and `search` asks the simulator what each gains.
//!
//! Invariant: no rewriting is predicted that has a race, or that leaves other values in memory
//! than the program that it came from. What a program cannot show, such as whether the host reads
//! a result at once, is a [`Condition`] that comes with the rewriting.

mod advice;
mod applied;
mod generations;
mod missing_waits;
mod patch;
mod proof;
mod refusal;
mod remedies;
mod remedy;
mod rewriting;
mod search;
mod streams;
mod subject;
mod unrolled;
mod values;

pub use advice::{
    Advice, Advised, Breakdown, Change, Combination, Measured, NoGain, Rewritten, Takes, TimedRange,
};
pub use applied::{Applied, Traits};
pub use proof::proved;
pub use refusal::Refusal;
pub use remedy::Remedy;
pub use rewriting::{Condition, Place, Rewriting};
pub use search::{LEAST_GAIN, advise};
pub use subject::{HostReads, Subject};
