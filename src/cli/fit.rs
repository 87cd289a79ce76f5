//! `hallway fit`: a profile from samples that were taken before.

use super::profiles::fitted;
use super::{Failure, Outcome};
use crate::fit::fit;
use crate::samples::Samples;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct FitArguments {
    /// Samples that `hallway calibrate` wrote
    samples: PathBuf,
    /// Where the profile goes
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(arguments: &FitArguments) -> Result<Outcome, Failure> {
    let samples = Samples::load(&arguments.samples).map_err(Failure::input)?;
    let profile = fit(&samples).map_err(Failure::input)?;
    profile.save(&arguments.output).map_err(Failure::machine)?;
    fitted(&arguments.output, &samples)?;
    Ok(Outcome::Done)
}
