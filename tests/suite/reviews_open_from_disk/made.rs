//! Reports of scenarios, made by the command.

use super::browser::Browser;
use super::shipped;
use crate::commands::{hallway, printed};
use crate::predicted::repository;
use crate::workloads::{ON_HOST, SPLIT, floats, head, task};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

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

/// A command on scenarios with the committed profile, which writes there.
fn of_few_draws(name: &str, scenarios: &[PathBuf], to: &Path) -> Command {
    let mut command = hallway(repository(), [name]);
    command.args(scenarios).args(["--draws", "10", "--profile", "calibration/h200"]);
    command.arg("--output").arg(to);
    command
}

/// Reports on scenarios with the committed profile. All must have an answer.
pub fn report(scenarios: &[PathBuf]) -> Report {
    let report = written(scenarios);
    assert_eq!(report.code, Some(0), "{}", report.said);
    report
}

/// The review of a committed scenario, in a file of its own. Each is made once for all tests.
pub fn review(name: &str) -> Report {
    static MADE: Mutex<BTreeMap<String, Arc<OnceLock<String>>>> = Mutex::new(BTreeMap::new());
    let mut all = MADE.lock().expect("nothing panics while it is held");
    let made = Arc::clone(all.entry(name.to_owned()).or_default());
    drop(all);
    let text = made.get_or_init(|| report(&[shipped(name)]).text).clone();
    let folder = tempfile::tempdir().expect("a folder");
    let report = Report { text, code: Some(0), said: String::new(), folder };
    std::fs::write(report.path(), &report.text).expect("written");
    report
}

/// A browser of some size with the review of a committed scenario; `None` if there is no browser.
pub fn opened(name: &str, size: (u32, u32)) -> Option<(Browser, Report)> {
    let mut browser = Browser::start()?;
    let page = review(name);
    browser.open(&page.path(), size);
    Some((browser, page))
}

/// Reports on scenarios with the committed profile, whether or not all have an answer.
pub fn written(scenarios: &[PathBuf]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let output = of_few_draws("report", scenarios, &folder.path().join("review.html")).output();
    let output = output.expect("the binary was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(folder.path().join("review.html")).unwrap_or_default();
    Report { text, code: output.status.code(), said, folder }
}

/// Pictures of scenarios, with the committed profile, in a folder.
pub fn plots(scenarios: &[PathBuf]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    printed(&mut of_few_draws("plot", scenarios, folder.path()));
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
    let head = head(name, &format!("runs = 10\n[plans]\nchunks = [1, {chunks}]"));
    let buffers = floats([name, "out"], elements, ON_HOST);
    head + &buffers + &task("task", "scale", &[name], "out", SPLIT)
}

/// A program whose timeline has about so many spans: each of its calls has one on the host and one
/// on the device.
pub fn a_program_of_spans(spans: u64) -> String {
    let repeats = spans / 6;
    format!(
        r#"{}{}
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
"#,
        head("many-spans", ""),
        floats(["x"], 4_096, ON_HOST)
    )
}
