//! Reports of scenarios, made by the command.

use crate::predicted::repository;
use std::path::PathBuf;
use std::process::Command;

/// As long as names are that somebody generates.
pub const LONG: &str = "a-name-of-sixty-four-letters-that-some-generator-came-up-with-01";

/// A report, and how the command went.
pub struct Report {
    pub text: String,
    pub code: Option<i32>,
    pub said: String,
    /// Where it lies, for as long as this lives.
    pub folder: tempfile::TempDir,
}

impl Report {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("review.html")
    }
}

/// Reports on scenarios with the committed profile. All must have an answer.
pub fn report(scenarios: &[PathBuf]) -> Report {
    let report = written(scenarios);
    assert_eq!(report.code, Some(0), "{}", report.said);
    report
}

/// Reports on scenarios with the committed profile, whether or not all have an answer.
pub fn written(scenarios: &[PathBuf]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_hallway"))
        .arg("report")
        .args(scenarios)
        .args(["--draws", "10", "--profile", "calibration/h200", "--output"])
        .arg(folder.path().join("review.html"))
        .current_dir(repository())
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(folder.path().join("review.html")).unwrap_or_default();
    Report { text, code: output.status.code(), said, folder }
}

/// Pictures of scenarios, with the committed profile, in a folder.
pub fn plots(scenarios: &[PathBuf]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_hallway"))
        .arg("plot")
        .args(scenarios)
        .args(["--draws", "10", "--profile", "calibration/h200", "--output"])
        .arg(folder.path())
        .current_dir(repository())
        .output()
        .expect("the binary was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// A scenario in a file of its own.
pub struct Made(tempfile::TempDir);

impl Made {
    pub fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("scenario.toml"), scenario).expect("written");
        Self(folder)
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("scenario.toml")
    }

    pub fn report(&self) -> Report {
        written(&[self.path()])
    }
}

/// One kernel over arrays that are cut into up to so many chunks.
pub fn a_scenario(name: &str, elements: u64, chunks: u64) -> String {
    format!(
        r#"schema_version = 1
name = "{name}"
question = "Does it pay?"
runs = 10

[[buffer]]
name = "{name}"
type = "f32"
elements = {elements}
home = "host"

[[buffer]]
name = "out"
type = "f32"
elements = {elements}
home = "host"

[[task]]
name = "task"
kernel = "scale"
reads = ["{name}"]
writes = ["out"]
split = {{ along = "elements" }}

[plans]
chunks = [1, {chunks}]
"#
    )
}

/// A program whose timeline has about so many spans: each of its calls has one on the host and one
/// on the device.
pub fn a_program_of_spans(spans: u64) -> String {
    let repeats = spans / 6;
    format!(
        r#"schema_version = 1
name = "many-spans"
question = "What does a loop of small steps look like?"

[[buffer]]
name = "x"
type = "f32"
elements = 4_096
home = "host"

[[program]]
name = "a loop of small steps"
memory = [
    {{ name = "d", kind = "device", size = "16 KiB" }},
    {{ name = "e", kind = "device", size = "16 KiB" }},
]
setup = [{{ pin = "x" }}]
calls = [
    {{ repeat = {repeats}, calls = [
      {{ copy = "x", to = "d", stream = "s" }},
      {{ launch = "scale", reads = ["d"], writes = "e", arguments = {{ a = 2.0 }}, stream = "s" }},
      {{ copy = "e", to = "x", stream = "s" }},
    ] }},
    {{ synchronize = "s" }},
]
"#
    )
}
