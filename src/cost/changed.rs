//! Prices that are not as the profile has them.

use super::halved::Halved;
use super::stated::StatedTimes;

/// What is changed of the prices that a program is compiled with. By default, nothing is.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub halved: Halved,
    pub stated: StatedTimes,
}

impl From<Halved> for Changed {
    fn from(halved: Halved) -> Self {
        Self { halved, stated: StatedTimes::new() }
    }
}
