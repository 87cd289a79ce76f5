//! The command says what is wrong, where, and what to do about it; its exit
//! code says whose fault it is; and a command that fails leaves no files behind.

mod exit_codes;

use super::commands::{hallway, ran};
use super::machines::machine;
use super::predicted::repository;
use hallway::gpu::Device;
use hallway::kernels::Kernel;
use hallway::profile::Intervals;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Output;

/// A folder of its own with a scenario and a profile in it.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        let scenario = repository().join("scenarios/small-scale.toml");
        std::fs::copy(scenario, desk.path("scenario.toml")).expect("written");
        machine().save(&desk.path("profile.toml")).expect("written");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the command in this folder.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let before = self.files();
        let output = ran(self.0.path(), arguments);
        Outcome::new(arguments, output, before == self.files())
    }

    /// Every file with its contents.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut to_do = vec![self.0.path().to_owned()];
        while let Some(folder) = to_do.pop() {
            found.insert(folder.clone(), Vec::new());
            for entry in std::fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                if path.is_dir() {
                    to_do.push(path);
                } else {
                    let contents = std::fs::read(&path).expect("readable");
                    found.insert(path, contents);
                }
            }
        }
        found
    }
}

struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The folder is as it was before.
    left_no_trace: bool,
    /// All of it, for messages.
    shown: String,
}

impl Outcome {
    fn new(arguments: &[&str], output: Output, left_no_trace: bool) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let (code, stdout, stderr) =
            (output.status.code(), text(output.stdout), text(output.stderr));
        let shown = format!("hallway {arguments:?}: {code:?}\n{stdout}{stderr}");
        Self { code, stdout, stderr, left_no_trace, shown }
    }

    /// It ended with the code, printed no result and wrote nothing.
    #[track_caller]
    fn failed_cleanly(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}", self.shown);
        assert_eq!(self.stdout, "", "{}", self.shown);
        assert!(self.left_no_trace, "files were written: {}", self.shown);
        assert!(!self.stderr.contains("panicked"), "{}", self.shown);
    }

    #[track_caller]
    fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "does not say `{word}`: {}", self.shown);
        }
    }
}

const EVALUATE: [&str; 4] = ["evaluate", "scenario.toml", "--profile", "profile.toml"];

#[test]
fn without_a_gpu_commands_say_so_in_one_line() {
    let absent = matches!(Device::count(), Err(error) if error.is_absence());
    if !absent {
        // Not `println!`, which the harness would hide.
        let message = b"without_a_gpu_commands_say_so_in_one_line: skipped: there is a GPU\n";
        std::io::stderr().write_all(message).expect("standard error");
        return;
    }
    for arguments in [
        "calibrate --output new/folder",
        "calibrate --output new/folder --resume",
        "verify scenario.toml --profile profile.toml --output out.txt",
        "verify scenario.toml --profile profile.toml --output out.txt --set-up",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let outcome = Desk::new().run(&arguments);
        outcome.failed_cleanly(3);
        outcome.says(&["GPU"]);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.shown);
    }
}

/// Writes the machine with intervals of a tenth, its launch taking so many nanoseconds
/// and its kernels longer by a share, each by another one: the same number twice is compared once.
fn write_sure(desk: &Desk, name: &str, launch: f64, longer: f64) {
    let mut profile = machine();
    profile.calls.launch.as_mut().expect("known").ns = launch;
    for (at, model) in profile.kernels.iter_mut().enumerate() {
        model.time.scale(1.0 + longer * (1.0 + at as f64 / 1000.0));
    }
    let half_widths = profile.parameters().into_iter().map(|one| {
        let widths = one.points.iter().map(|point| 0.1 * point.1).collect();
        (one.name, widths)
    });
    profile.intervals = Some(Intervals { half_widths: half_widths.collect() });
    profile.save(&desk.path(name)).expect("written");
}

#[test]
fn a_comparison_fails_if_more_has_changed_than_chance_would() {
    let desk = Desk::new();
    write_sure(&desk, "monday.toml", 2_000.0, 0.0);
    write_sure(&desk, "friday.toml", 4_000.0, 0.01);
    write_sure(&desk, "other.toml", 2_000.0, 0.5);
    // One of a hundred has changed.
    let outcome = desk.run(&["compare", "monday.toml", "friday.toml"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
    for words in ["calls.launch", "+100.0%", "agree within their 95% intervals"] {
        assert!(outcome.stdout.contains(words), "no `{words}`: {}", outcome.shown);
    }
    let outcome = desk.run(&["compare", "monday.toml", "other.toml"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown);
    assert!(outcome.stdout.contains("more; `--all` shows them"), "{}", outcome.shown);
    let outcome = desk.run(&["compare", "monday.toml", "other.toml", "--all"]);
    assert!(!outcome.stdout.contains("--all"), "{}", outcome.shown);
    let outcome = desk.run(&["compare", "monday.toml", "profile.toml"]);
    outcome.failed_cleanly(2);
    outcome.says(&["profile.toml has no intervals", "two passes"]);
    let text = std::fs::read_to_string(desk.path("monday.toml")).expect("written");
    std::fs::write(desk.path("broken.toml"), text.replace("[200.0]", "[nan]")).expect("written");
    let outcome = desk.run(&["compare", "broken.toml", "friday.toml"]);
    outcome.failed_cleanly(2);
    outcome.says(&["broken.toml", "half-widths"]);
}

#[test]
fn evaluate_writes_the_same_to_a_file() {
    let desk = Desk::new();
    let printed = desk.run(&EVALUATE).stdout;
    let outcome = desk.run(&[&EVALUATE[..], &["--output", "answer.txt"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
    assert_eq!(outcome.stdout, "", "{}", outcome.shown);
    let written = std::fs::read_to_string(desk.path("answer.txt")).expect("written");
    assert_eq!(written, printed);
}

#[test]
fn kernels_are_listed_with_what_they_take() {
    let outcome = Desk::new().run(&["kernels"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
    for kernel in Kernel::ALL {
        let line = outcome.stdout.lines().find(|line| line.starts_with(kernel.name()));
        let line = line.unwrap_or_else(|| panic!("no {kernel}: {}", outcome.shown));
        for word in kernel.operands().iter().copied().chain(kernel.arguments()) {
            assert!(line.contains(word), "no `{word}` in `{line}`");
        }
    }
}

#[test]
fn a_reader_that_has_gone_is_no_reason_to_panic() {
    let desk = Desk::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = hallway(desk.0.path(), ["evaluate", "missing.toml"]);
    assert_eq!(command.stderr(writer).status().expect("the binary was built").code(), Some(2));
}
