//! The prices that a program is compiled with.

use super::halved::Halved;
use crate::profile::Profile;

/// The prices of a profile, of which some may be halved, and times that a user stated drawn.
pub(crate) struct Prices<'p> {
    pub profile: &'p Profile,
    pub halved: Halved,
    pub stated: StatedTimes,
}

impl<'p> Prices<'p> {
    /// All prices as the profile and the user have them.
    pub fn usual(profile: &'p Profile) -> Self {
        Self { profile, halved: Halved::NOTHING, stated: StatedTimes::new() }
    }
}

/// For each kernel of a program that is not of the library, how many times as long as stated it
/// takes on the GPU and on the CPU. Empty if none has a range.
pub(crate) type StatedTimes = Vec<[f64; 2]>;
