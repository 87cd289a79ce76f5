//! The `hallway` command.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    hallway::cli::run(hallway::cli::Arguments::parse())
}
