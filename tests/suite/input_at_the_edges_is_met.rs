//! Input that is almost right is refused with its place and the fix, or taken and said so; what
//! cannot be written is refused before the work, and a kill leaves nothing behind.

mod long_times;
mod outputs;
mod positions;
mod profiles;
mod quick_ends;
mod runs;
mod samples;
mod sizes;

use super::commands::ran;
use super::predicted::repository;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

fn committed(file: &str) -> String {
    let folder = repository().join("calibration/h200");
    std::fs::read_to_string(folder.join(file)).expect("committed")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A file in a folder of its own.
fn file(name: &str, text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    (folder, path)
}

/// Runs the binary from the repository's folder.
fn hallway<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    ran(repository(), arguments)
}

/// Fits samples to a profile in a file.
fn fit(samples: &Path, to: &Path) -> Output {
    hallway(["fit".as_ref(), samples.as_os_str(), "--output".as_ref(), to.as_os_str()])
}

/// What a command that was given bad input said of it.
#[track_caller]
fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}{}", String::from_utf8_lossy(&output.stdout));
    // A report is wrapped: its words are all that counts.
    said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}
