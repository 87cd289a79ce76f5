//! The discrete-event simulator: a plan and a profile make a timeline.
//!
//! Invariant: equal inputs give equal timelines, on any machine. Events are
//! ordered by time and then by the order in which they were scheduled; nothing
//! is looked up in hash order. The rules of the hardware are each in a place of
//! their own: the host thread in `host`, stream order in `streams`, hand-overs in
//! `start`, when engines find out about what came too early in `looks`, the queues that
//! streams share in `channels`, the copy engines in `copies`, what several use at once
//! in `shares` and `links`, the multiprocessors in `processors`.
//! `program` and `entries` make a plan ready, `plain` says which plans most of these rules
//! say nothing about, `engine` only moves time forwards.

mod antithetic;
mod around;
mod bound;
mod channels;
mod copies;
mod cost;
mod engine;
mod entries;
mod found;
mod host;
mod issue;
mod launches;
pub mod links;
mod looks;
mod needs;
mod observer;
mod on_device;
mod operation;
mod plain;
mod processors;
mod program;
mod queue;
mod setup;
mod shares;
mod start;
mod streams;
mod uncertainty;
mod uses;

pub use bound::lower_bound;
pub use engine::{Simulator, simulate};
pub use program::{Program, SimulateError};
pub use setup::setup_time;
pub use uncertainty::{DRAWS, Forecast, forecast, forecast_all};
