//! `hallway check` tells of every mistake in every file, where it is and what to do about it.

use super::*;
use crate::mistakes::{mistakes, with};
use serde_json::Value;

/// A scenario with every key of the format.
fn valid() -> String {
    mistakes("scenario.txt").0
}

/// Checks texts in one go; the mistakes of each.
fn mistakes_of(texts: &[String]) -> Vec<Vec<Value>> {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = (0..texts.len()).map(|number| format!("{number}.toml")).collect();
    for (name, text) in names.iter().zip(texts) {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let mut arguments = vec!["check", "--format", "json"];
    arguments.extend(names.iter().map(String::as_str));
    let output = ran(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let found: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let files = found["files"].as_array().expect("a list");
    assert_eq!(files.len(), texts.len());
    let errors = |file: &Value| file["errors"].as_array().expect("a list").clone();
    files.iter().map(errors).collect()
}

/// Each is told with the place that is said of it alone, and with a way to put it right.
#[test]
fn each_is_told_with_its_place_and_fix() {
    let (_, all) = mistakes("scenario.txt");
    let texts: Vec<String> = all.iter().map(|one| one.text.clone()).collect();
    for (one, errors) in all.iter().zip(mistakes_of(&texts)) {
        let text = &one.text;
        assert!(!errors.is_empty(), "passes:\n{text}");
        for error in &errors {
            let help = error["help"].as_str().unwrap_or_default();
            assert!(!help.is_empty(), "no fix: {error}\n{text}");
            assert!(error["place"]["column"].as_u64() > Some(0), "no place: {error}\n{text}");
            assert_eq!((&error["code"], &error["kind"]), (&2.into(), &"input".into()), "{error}");
        }
        let lines: Vec<_> = errors.iter().map(|error| error["place"]["line"].as_u64()).collect();
        assert!(lines.contains(&one.line()), "not in line {:?}: {errors:?}\n{text}", one.line());
    }
}

/// A dozen mistakes in one file, none of which hides another.
#[test]
fn of_one_file_is_told() {
    let pieces = [
        ("batches = 2", "batchs = 2"),
        ("runs = 10", "runs = 0\ncolour = 1"),
        ("1024 # x", "0 # x"),
        ("\"stencil\"", "\"stensil\""),
        ("{ a = 2.0 }", "{ b = 2.0 }"),
        ("cpu_threads = 16", "cpu_threads = 0"),
        ("\"8 GiB\"", "\"8 Gigs\""),
        ("\"by-engine\"", "\"by-engin\""),
        ("[1, 4]", "[0, -1]"),
    ];
    let text = pieces.iter().fold(valid(), |text, (one, other)| with(&text, one, other));
    let errors = mistakes_of(&[text]).remove(0);
    let shown = format!("{errors:#?}");
    for word in
        ["batchs", "colour", "`elements`", "8 Gigs", "cpu_threads", "by-engin", "chunks` is 0"]
    {
        assert!(shown.contains(word), "no `{word}` in {shown}");
    }
}

/// What is wrong in one table does not hide what is wrong in the next.
#[test]
fn of_every_table_is_told() {
    let text = with(&valid(), "\"scratch\"", "\"scrach\"\nsize = 1\ncolour = 2");
    let text = with(&text, "\"stencil\"", "7");
    let text = with(&text, "[1, 4]", "4");
    let text = with(&text, "writes = [\"middle\"]\n", "");
    let errors = mistakes_of(&[text]).remove(0);
    let lines: Vec<_> = errors.iter().map(|error| error["place"]["line"].as_u64()).collect();
    assert_eq!(lines, [18, 19, 20, 29, 37, 50].map(Some), "{errors:#?}");
}

#[test]
fn of_none_is_said_of_files_that_are_fine() {
    let mut arguments = vec!["check".to_owned()];
    arguments.extend(scenarios(&[""]).iter().map(|path| path.display().to_string()));
    arguments.push("calibration/h200/profile.toml".to_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = ran(repository(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), format!("{} files are valid\n", arguments.len() - 1));
}

#[test]
fn of_all_files_is_drawn_with_its_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("fine.toml"), valid()).expect("written");
    let wrong = with(&valid(), "batches = 2", "batches = 0");
    std::fs::write(folder.path().join("wrong.toml"), wrong).expect("written");
    std::fs::write(folder.path().join("table.csv"), "path,seconds\nH2D,fast\n").expect("written");
    std::fs::write(folder.path().join("machine.toml"), "[machine]\ngpu = 3\n").expect("written");
    let files = ["check", "fine.toml", "wrong.toml", "table.csv", "machine.toml", "lost.toml"];
    let output = ran(folder.path(), files);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
    let told = stderr(&output);
    for words in
        ["wrong.toml:4:11", "table.csv", "machine.toml", "lost.toml", "4 mistakes in 4 files"]
    {
        assert!(told.contains(words), "no `{words}` in {told}");
    }
    assert!(told.contains("1 file is valid"), "{told}");
}
