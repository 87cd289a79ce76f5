//! `hallway plot`: pictures for design reviews.

use super::{Failure, Outcome, Predicting};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct PlotArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Folder for the pictures
    #[arg(long, value_name = "FOLDER", default_value = "plots")]
    output: PathBuf,
}

pub(super) fn run(_arguments: &PlotArguments) -> Result<Outcome, Failure> {
    Ok(Outcome::Done)
}
