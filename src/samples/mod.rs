//! Raw measurements: what was timed, how often, and every time that was taken.
//!
//! `quantity` defines everything that can be measured. What a mechanism's measurements are made of,
//! such as sizes that calibration and fit have to agree on, stands in a file of its own.
//!
//! Invariant: nothing here is fitted, smoothed or left out. A calibration writes one line of JSON
//! about the machine, one line for each measurement as it is taken, and an end mark. So an
//! interrupted calibration keeps what it has. A table (`.csv`) holds times that were measured
//! elsewhere.

mod caches;
mod calls;
mod chains;
mod contention;
mod copies;
mod definition;
mod error;
mod file;
mod graphs;
mod host_copies;
mod memory;
mod named;
mod own_kernels;
mod plausible;
mod polling;
mod provenance;
mod quantity;
mod round_trips;
mod rows;
mod setup;
mod table;
mod transfers;
mod trial;
mod twins;

/// What a calibration notes of the machine it runs on.
pub use crate::machine::{Condition, HostPages};
pub use caches::{
    DEVICE_FOOTPRINT, MEMORY_FOOTPRINT, MOST_OF_ONE_CORE, ONE_TEAM, ONE_THREAD, SHARED_FOOTPRINT,
    WRITTEN_KEPT, WRITTEN_THROUGH,
};
pub use calls::{IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, TURNS, TimedCall};
pub use chains::{CYCLES, LONG_COPY, LONG_KERNEL, SHORT_COPY, SHORT_KERNEL};
pub use contention::{Load, REFETCHED, STREAMING_KERNEL, STREAMING_TWIN, Side, waiting_kernels};
pub use copies::{ROTATED, is_of_rate};
pub use definition::{Definition, Doer, Work};
pub use error::{FORMAT, SamplesError};
pub use file::Recorder;
pub use graphs::{GraphCall, ROTATED_IN_GRAPH, ROWS, SECOND_NODE};
pub use host_copies::FAR;
pub use memory::{MemoryWork, WaitPart};
pub use own_kernels::OwnRun;
pub use polling::MEANWHILE;
pub use provenance::{CalibrationExtent, Provenance};
pub use quantity::Quantity;
pub use round_trips::{LATE, TRIP_ELEMENTS, TripPart};
pub use rows::{GAP, MANY_ROWS, RowPath};
pub use setup::SetupStep;
pub use table::TABLE_TEMPLATE;
pub use transfers::{OnLink, TransferPath};
pub use trial::Trial;
pub use twins::{Handing, Taker};

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Why no more samples were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The confidence interval of the median is narrow enough.
    Settled,
    /// There are as many as were to be taken. (In files of early versions, it is said of samples
    /// whose scatter had settled, too.)
    Stable,
    /// The limit of time or of samples was reached first.
    Capped,
    /// The limit of time was reached, and something else used the core during most samples. All of
    /// them are kept.
    Shared,
    /// Unknown: the times come from a table.
    Elsewhere,
}

/// One quantity, measured several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub quantity: Quantity,
    /// Repetitions within one sample.
    pub count: u64,
    /// The time of each sample, in the order in which they were taken.
    pub times: Vec<Span>,
    pub stop: Stop,
    /// Times of samples during which something else used the core of the timed thread. They are
    /// kept apart if there are enough undisturbed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Span>,
    /// How many measurements were taken right before this one that the file no longer has, because
    /// nothing needs what they were of.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// Why the machine was not in its usual state, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Measurement {
    /// A measurement that nothing disturbed.
    pub const fn new(quantity: Quantity, count: u64, times: Vec<Span>, stop: Stop) -> Self {
        let beside = Vec::new();
        Self { quantity, count, times, stop, beside, left_out: 0, disturbed: None }
    }
}

/// A calibration's measurements and the machine that they are of.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    pub machine: Provenance,
    pub measurements: Vec<Measurement>,
    pub trials: Vec<Trial>,
    /// The device's state at the beginning and the end of every sitting.
    pub conditions: Vec<Condition>,
    /// Whether the calibration was interrupted: what it had not reached is missing.
    pub is_unfinished: bool,
}

impl Samples {
    /// Samples of a machine that has not been measured yet.
    pub fn none(machine: Provenance) -> Self {
        let (measurements, trials, conditions) = (Vec::new(), Vec::new(), Vec::new());
        let is_unfinished = false;
        Self { machine, measurements, trials, conditions, is_unfinished }
    }
}
