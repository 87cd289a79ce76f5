//! What is timed of a trip to the device and back.

use serde::{Deserialize, Serialize};

/// A part of a trip. What calls take varies, and the rest hardly at all: apart, each
/// is known as well as it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TripPart {
    FirstCall,
    NextCall,
    /// From the return of the last call to that of a synchronisation.
    Rest,
}

impl TripPart {
    /// Those of a trip with one call, or with two.
    pub const fn all(has_next: bool) -> &'static [Self] {
        if has_next {
            &[Self::FirstCall, Self::NextCall, Self::Rest]
        } else {
            &[Self::FirstCall, Self::Rest]
        }
    }
}
