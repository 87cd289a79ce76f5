//! A question asked of another machine: with half the link, faster kernels, pinned memory.
//!
//! A [`Variation`] is some changes at once. It turns a profile and a workload into those of the
//! machine and the program that would be, and these are asked like any other: plans are found anew,
//! so another one may win. One file has a group of knobs, and says what they leave as it is.
//!
//! A factor of 0.5 leaves half as much of a capacity (links, multiprocessors, threads), and makes a
//! time (kernels, launches, set-up) half as long.
//!
//! Invariant: a factor of 1 changes nothing, to the bit. What a change takes for granted is said
//! beside its answer; what it cannot know stays unknown, or the change is refused.

mod change;
mod data_sheet;
mod gpus;
mod kernels;
mod links;
mod threads;
mod turning_factor;
mod vary;

pub use change::{Change, Knob, SetupPrice, Variation, Varied, gpu_model};
pub use data_sheet::{TAKEN_FOR_GRANTED, with_gpu};
pub use turning_factor::{SEARCHED, TurningFactor, turning_factor};
pub use vary::vary;
