//! The discrete-event simulator: it turns a compiled program into a timeline.
//!
//! Invariant: equal inputs give equal timelines on any machine. Events are ordered by time, and at
//! equal times by the order in which they were scheduled; nothing is looked up in hash order.
//!
//! Each resource has a file of its own: the host thread is in `host`, streams and their events in
//! `streams`, hand-overs between engines in `hand_overs`, engines that poll for operations which
//! arrived too early in `polling`, the channels that streams share in `channels`, copy engines in
//! `copies`, the links that copies share in `links`, and multiprocessors in `multiprocessors`. What
//! their rules cost is in the files of these names in `cost`. `engine` only moves time forward.

mod bound;
mod channels;
mod copies;
mod delays;
mod engine;
mod forecast;
mod gains;
mod hand_overs;
mod host;
pub mod links;
mod multiprocessors;
mod operation;
mod polling;
mod queue;
mod streams;
mod tally;
mod textbook;

pub use bound::{Demand, lower_bound};
pub use engine::{makespan, simulate};
pub use forecast::{
    COVERAGE, DRAWS, Draws, Forecast, MainThread, forecast, forecast_all, forecast_finalists,
};
pub use gains::{Gain, Gains, gains};
pub use tally::Tally;
pub use textbook::textbook;
