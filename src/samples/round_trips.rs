//! The timed parts of a trip to the device and back.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A part of a trip. Calls vary and the rest hardly does, so they are timed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TripPart {
    FirstCall,
    NextCall,
    /// From the return of the last call until a synchronisation returns.
    Rest,
}

impl TripPart {
    /// The parts of a trip with one call, or with two if it `has_next`.
    pub const fn all(has_next: bool) -> &'static [Self] {
        if has_next {
            &[Self::FirstCall, Self::NextCall, Self::Rest]
        } else {
            &[Self::FirstCall, Self::Rest]
        }
    }
}

/// Pause between the calls of a late trip: twice as long as a copy takes until its data flows.
pub const LATE: Duration = Duration::from_micros(4);

/// Elements of the kernel that a trip begins with.
pub const TRIP_ELEMENTS: u64 = 1 << 16;
