//! `hallway evaluate`: predict and rank.

use super::{Failure, Format, Outcome, Predicting};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct EvaluateArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Passes over the workload in one program [default: as the scenario says]
    #[arg(long)]
    runs: Option<u64>,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(_arguments: &EvaluateArguments) -> Result<Outcome, Failure> {
    Ok(Outcome::Done)
}
