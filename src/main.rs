//! The `hallway` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    hallway::cli::main()
}
