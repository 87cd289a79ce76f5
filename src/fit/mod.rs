//! Samples to profile.
use crate::profile::Profile;
use crate::samples::Samples;
/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct FitError;
/// x
pub fn fit(_samples: &Samples) -> Result<Profile, FitError> {
    Err(FitError)
}
