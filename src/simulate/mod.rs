//! The discrete-event simulator: it turns a plan and a profile into a timeline.
//!
//! Invariant: equal inputs give equal timelines on any machine. Events are ordered by time, and at
//! equal times by the order in which they were scheduled; nothing is looked up in hash order.
//!
//! Each rule of the hardware has a file of its own: the host thread is in `host`, stream order in
//! `streams`, hand-overs in `start`, engines polling for operations that arrived too early in
//! `looks`, the channels that streams share in `channels`, copy engines in `copies`, what copies
//! share in `shares` and `links`, and multiprocessors in `processors`. `program` and `entries`
//! prepare a plan, `plain` finds the plans to which most of these rules do not apply, and `engine`
//! only moves time forward.

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
mod in_flight;
mod issue;
mod launches;
pub mod links;
mod looks;
mod needs;
mod observer;
mod on_device;
mod operation;
mod pinning;
mod plain;
mod processors;
mod program;
mod queue;
mod setup;
mod shares;
mod start;
mod streams;
mod tally;
mod uncertainty;
mod uses;

pub use bound::lower_bound;
pub use engine::{Simulator, simulate};
pub use pinning::{Pinning, pinning};
pub use program::{CompiledProgram, SimulateError};
pub use setup::{FirstUse, first_use, setup_time};
pub use tally::Tally;
pub use uncertainty::{DRAWS, Forecast, forecast, forecast_all, forecast_counted};
