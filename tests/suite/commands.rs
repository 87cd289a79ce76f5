//! The command, as users run it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// The command in a folder. Colours would get between the words.
pub fn hallway<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.current_dir(folder).env("NO_COLOR", "1").args(arguments);
    command
}

/// Runs the command in a folder.
pub fn ran<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Output {
    hallway(folder, arguments).output().expect("the binary was built")
}

/// What a command prints, which has to succeed.
#[track_caller]
pub fn printed(command: &mut Command) -> String {
    let output = command.output().expect("the binary was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
