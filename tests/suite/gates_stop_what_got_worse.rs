//! An evaluation against an earlier one: what is the same passes, what got worse fails with the
//! reason.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const SCENARIOS: [&str; 4] =
    ["scenarios/small-scale.toml", "scenarios/reduce-sum.toml", "--draws", "10"];

fn evaluate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("evaluate").args(arguments);
    command.output().expect("it runs")
}

/// What the scenarios come to, in a file.
fn baseline(folder: &Path) -> (String, Value) {
    let path = folder.join("old.json").display().to_string();
    let more = ["--format", "json", "--output", &path];
    assert!(evaluate(&[&SCENARIOS[..], &more].concat()).status.success());
    let text = std::fs::read_to_string(&path).expect("it was written");
    (path, serde_json::from_str(&text).expect("JSON"))
}

fn against(path: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let output = evaluate(&[&SCENARIOS[..], &["--baseline", path], more].concat());
    let [out, err] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), out, err)
}

#[test]
fn the_same_passes_and_worse_fails_with_the_reason() {
    let folder = TempDir::new().expect("a folder");
    let (path, old) = baseline(folder.path());
    let (code, out, err) = against(&path, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let fails = "fails if the fastest plan is more than 5% slower or the verdict changes";
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(fails), "{out}");

    // The baseline took 10% less: now it is 11% slower.
    let write = |value: &Value| std::fs::write(&path, value.to_string()).expect("writable");
    let mut faster = old.clone();
    let time = faster["scenarios"][0]["plans"][0]["predicted_ns"].as_u64().expect("a number");
    faster["scenarios"][0]["plans"][0]["predicted_ns"] = json!(time * 9 / 10);
    write(&faster);
    let (code, out, err) = against(&path, &["--fail-if", "slower=5%"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("small-scale: the fastest plan") && err.contains("+11.1%"), "{err}");
    assert!(!err.contains("reduce-sum"), "{err}");
    assert_eq!(against(&path, &["--fail-if", "slower=12%"]).0, Some(0));
    assert_eq!(against(&path, &["--fail-if", "verdict"]).0, Some(0));

    // Another verdict fails whatever it takes, unless only time counts.
    let mut turned = old.clone();
    let was = turned["scenarios"][1]["verdict"]["answer"].clone();
    turned["scenarios"][1]["verdict"]["answer"] = json!(if was == "cpu" { "gpu" } else { "cpu" });
    write(&turned);
    let (code, _, err) = against(&path, &[]);
    assert_eq!(code, Some(1));
    assert!(err.contains("reduce-sum: the verdict changed from"), "{err}");
    assert_eq!(against(&path, &["--fail-if", "slower=5%"]).0, Some(0));

    // The JSON form says the same.
    let (code, out, _) = against(&path, &["--format", "json"]);
    let now: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, Some(1));
    assert_eq!(now["gate"]["failures"].as_array().expect("a list").len(), 1);
    assert_eq!(now["gate"]["compared"][0]["before_ns"], now["gate"]["compared"][0]["now_ns"]);
}

#[test]
fn scenarios_that_one_of_the_two_lacks_are_named() {
    let folder = TempDir::new().expect("a folder");
    let (path, mut old) = baseline(folder.path());
    old["scenarios"][0]["scenario"] = json!("gone");
    std::fs::write(&path, old.to_string()).expect("writable");
    let (code, out, _) = against(&path, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("Only in the baseline: `gone`."), "{out}");
    assert!(out.contains("Not in the baseline: `small-scale`."), "{out}");
    let (code, _, err) = against(&path, &["--fail-if", "missing"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("gone: only in the baseline"), "{err}");
    assert!(err.contains("small-scale: not in the baseline"), "{err}");
}

/// A change of the question is no change of the answer.
#[test]
fn what_was_asked_otherwise_is_said() {
    let folder = TempDir::new().expect("a folder");
    let (path, mut old) = baseline(folder.path());
    let (_, out, _) = against(&path, &[]);
    assert!(
        !out.contains("another calibration") && !out.contains("in the baseline; now it has"),
        "{out}"
    );
    old["scenarios"][0]["runs"] = json!(7);
    old["profile"]["gpu"] = json!("Other");
    std::fs::write(&path, old.to_string()).expect("writable");
    let (_, out, _) = against(&path, &[]);
    assert!(out.contains("The baseline uses another calibration: Other of 2026-"), "{out}");
    assert!(out.contains("`small-scale` had 7 runs in the baseline; now it has 100."), "{out}");
}

/// A renamed scenario must not disable the check.
#[test]
fn a_check_that_compares_nothing_fails() {
    let folder = TempDir::new().expect("a folder");
    let (path, mut old) = baseline(folder.path());
    for (at, scenario) in old["scenarios"].as_array_mut().expect("a list").iter_mut().enumerate() {
        scenario["scenario"] = json!(format!("gone {at}"));
    }
    std::fs::write(&path, old.to_string()).expect("writable");
    let (code, _, err) = against(&path, &[]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("nothing to compare: the two evaluations have no scenario in common"),
        "{err}"
    );
}

#[test]
fn what_is_no_baseline_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("old.json").display().to_string();
    for (text, says) in [
        ("", "it is not valid JSON:"),
        ("{}", "no `schema_version`"),
        ("{\"schema_version\": 99}", "schema version 99"),
        (
            "{\"schema_version\": 1, \"runs\": []}",
            "schema version 1, but this hallway reads version 2",
        ),
        ("{\"schema_version\": 2, \"runs\": []}", "it is not an evaluation"),
    ] {
        std::fs::write(&path, text).expect("writable");
        let (code, out, err) = against(&path, &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(says), "{text}: {err}");
    }
    let (code, ..) = against(&path, &["--output", &path]);
    assert_eq!(code, Some(2));
    let output = evaluate(&[&SCENARIOS[..], &["--fail-if", "verdict"]].concat());
    assert_eq!(output.status.code(), Some(2));
}
