//! From a workload to programs, without a look at any machine: the families of plans.
//!
//! Invariant: [`build`] makes only programs that pass [`crate::program::check_hazards`] and fit the
//! workload's limits. What none can be made for is refused with the reason.

mod ashore;
mod build;
mod builder;
mod by_chunk;
mod by_engine;
mod chunk;
mod cpu;
mod dealt;
mod partials;
mod round_trip;
mod shared;
mod strategy;

pub use build::{Refusal, build};
pub use strategy::{Each, Family, Issue, Spread, Strategy};
