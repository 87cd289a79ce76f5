//! Who has never seen hallway gets a scenario that runs, a schema for the editor,
//! and every mistake at once.

mod a_new_scenario;
mod a_plan_in_words;
mod every_mistake_at_once;
mod reference;
mod the_json;
mod the_machine;
pub mod the_schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs hallway in a folder.
fn hallway(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hallway"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary was built")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// Scenarios that have recorded runs.
fn shipped_scenarios() -> Vec<PathBuf> {
    let paths = scenarios_in("scenarios");
    assert!(paths.len() >= 12, "{paths:?}");
    paths
}

/// Those of a folder, without those of folders in it.
fn scenarios_in(folder: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(repository().join(folder)).expect("the folder is there");
    let paths = files.map(|file| file.expect("readable").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}
