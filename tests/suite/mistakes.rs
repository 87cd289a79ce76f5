//! What is wrong is refused with its place, what is wrong there and how to mend it.
//!
//! Each file in `tests/mistakes` begins with a text that is right, or that is once something stands
//! at `# here`. Cases follow, with empty lines between them: `-` is before lines that are replaced,
//! `+` before those that come there instead, and below is what is then said. Where the schema does
//! not see a mistake either, that is said, too. With `BLESS=1`, what is said is written anew.

use super::first_steps::the_schema::Judge;
use super::predicted::repository;
use super::said::is_as_blessed;
use hallway::scenario::{ScenarioError, Workload};
use miette::{Diagnostic, LabeledSpan};
use std::path::Path;

/// The line at which a case without lines to replace puts its own.
const HERE: &str = "# here";

/// A text with a mistake, and what is said of it.
pub struct Mistake {
    pub text: String,
    changes: String,
    said: String,
}

impl Mistake {
    /// The line at which it is said to be.
    pub fn line(&self) -> Option<u64> {
        self.said.split(':').next()?.parse().ok()
    }
}

/// The text without mistakes of a file, and its mistakes.
pub fn mistakes(name: &str) -> (String, Vec<Mistake>) {
    let path = repository().join("tests/mistakes").join(name);
    let all = std::fs::read_to_string(path).expect("it is committed");
    let (right, cases) = all.split_once("====\n").expect("cases");
    let cases = cases.split("\n\n").map(str::trim).filter(|case| !case.is_empty());
    let mistake = |case: &str| {
        let (mut text, mut changes, mut said) = (right.to_owned(), String::new(), String::new());
        let [mut from, mut to] = [String::new(), String::new()];
        // A change is complete where the next begins, or what is said.
        for line in case.lines().chain([""]) {
            let is_added = line.starts_with('+');
            if !is_added && !to.is_empty() {
                text = replaced(&text, &std::mem::take(&mut from), &std::mem::take(&mut to));
            }
            if !is_added && !line.starts_with('-') {
                said += &format!("{line}\n");
                continue;
            }
            changes += &format!("{line}\n");
            let side = if is_added { &mut to } else { &mut from };
            *side += &format!("{}\n", line.get(2..).unwrap_or_default());
        }
        Mistake { text, changes, said: format!("{}\n", said.trim_end()) }
    };
    (right.to_owned(), cases.map(mistake).collect())
}

#[track_caller]
fn replaced(text: &str, from: &str, to: &str) -> String {
    let from = if from.is_empty() { format!("{HERE}\n") } else { from.to_owned() };
    with(&format!("\n{text}"), &format!("\n{from}"), &format!("\n{to}")).split_off(1)
}

/// A text with a piece replaced, which must be there just once.
#[track_caller]
pub fn with(text: &str, piece: &str, other: &str) -> String {
    assert_eq!(text.matches(piece).count(), 1, "`{piece}` is not unique");
    text.replacen(piece, other, 1)
}

/// What is said of a text that is read as if it were in a file: the message with its place, what is
/// marked, and the fix.
fn said(file: &Path, text: &str, judge: &Judge) -> String {
    let file = file.to_str().expect("a path in UTF-8");
    let error = Workload::from_toml(file, text).map(|_| ()).expect_err(text);
    let help = error.help().expect("every mistake has a fix").to_string();
    let marked = |label: LabeledSpan| {
        let place = &text[label.offset()..][..label.len()];
        let place = place.lines().next().unwrap_or_default().chars().take(40).collect::<String>();
        let why = label.label().map(|why| format!(" ({why})"));
        format!("`{place}`{}", why.unwrap_or_default())
    };
    let marks: Vec<String> = error.labels().expect("marks").map(marked).collect();
    let message = error.to_string();
    let message = message.strip_prefix(&format!("{file}:")).expect("its place comes first");
    let unseen = if judge.judge(text).is_ok() { "\nunseen by the schema" } else { "" };
    let said = format!("{message}\nat {}\nhelp: {help}{unseen}\n", marks.join(", "));
    said.replace(&format!("{}/", env!("CARGO_MANIFEST_DIR")), "").replace("\n\n", "\n")
}

/// Checks what is said of all mistakes in a file, in a scenario of this path.
fn check(name: &str, file: &str) {
    let (right, all) = mistakes(name);
    let (file, judge) = (repository().join(file), Judge::new());
    let case = |one: &Mistake| format!("\n{}{}", one.changes, said(&file, &one.text, &judge));
    let cases: String = all.iter().map(case).collect();
    is_as_blessed(&format!("tests/mistakes/{name}"), &format!("{right}====\n{cases}"));
}

#[test]
fn in_a_scenario() {
    let (right, _) = mistakes("scenario.txt");
    Workload::from_toml("demo.toml", &right).expect("it is right");
    Judge::new().judge(&right).expect("it is right");
    check("scenario.txt", "scenarios/demo.toml");
}

#[test]
fn in_the_calls_of_a_program() {
    check("program.txt", "scenarios/demo.toml");
}

#[test]
fn in_own_kernels() {
    check("kernel.txt", "scenarios/kernels/demo.toml");
}

#[test]
fn in_tasks_of_own_kernels() {
    check("task-kernel.txt", "scenarios/kernels/demo.toml");
}

#[test]
fn in_launches_of_own_kernels() {
    check("launch.txt", "scenarios/kernels/demo.toml");
}

/// Asserts that the scenario is refused: `marked` is the text at the mistake, and message and help
/// say what is wrong and how to mend it.
#[track_caller]
pub fn refuses(text: &str, marked: &str, message: &str, help: &str) {
    let error = Workload::from_toml("test.toml", text).expect_err(text);
    let ScenarioError::Invalid { message: found, labels, .. } = &error else { panic!("{error}") };
    assert!(found.contains(message), "{found}\nis not: {message}");
    let place = &text[labels[0].offset()..];
    assert!(place.starts_with(marked), "marks {place}, not {marked}: {found}");
    let found = error.help().expect("every mistake has a fix").to_string();
    assert!(found.contains(help), "{found}\nis not: {help}");
}
