//! Runs that end early, have a plan twice, or lack some.

use super::{committed, file, hallway};
use hallway::runs::RunSet;

#[test]
fn a_plan_is_run_once_in_a_file() {
    let mut set: serde_json::Value =
        serde_json::from_str(&committed("runs/small-scale.json")).expect("JSON");
    let runs = set["runs"].as_array_mut().expect("a list");
    runs.push(runs[3].clone());
    let (_folder, path) = file("small-scale.json", set.to_string());
    let error = RunSet::load(&path).expect_err("twice").to_string();
    assert!(error.contains("two runs of"), "{error}");
}

#[test]
fn runs_that_end_early_are_refused() {
    let text = committed("runs/small-scale.json");
    for end in [0, 1, text.len() / 3, text.len() / 2, text.trim_end().len() - 1] {
        let (_folder, path) = file("small-scale.json", &text[..end]);
        let error = RunSet::load(&path).expect_err("cut").to_string();
        assert!(error.contains("is incomplete"), "at {end}: {error}");
    }
}

#[test]
fn plans_that_were_not_run_are_counted() {
    let (folder, path) = file("profile.toml", committed("profile.toml"));
    let text = committed("runs/small-scale.json");
    let mut runs: serde_json::Value = serde_json::from_str(&text).expect("runs");
    runs["runs"].as_array_mut().expect("a list").truncate(5);
    std::fs::create_dir(folder.path().join("runs")).expect("made");
    std::fs::write(folder.path().join("runs/small-scale.json"), runs.to_string()).expect("written");
    let command = ["verify", "--recorded", "scenarios/small-scale.toml", "--profile"];
    let output = hallway(command.iter().map(AsRef::as_ref).chain([path.as_os_str()]));
    let warning = String::from_utf8_lossy(&output.stderr);
    assert!(warning.contains("small-scale: 5 of 19 predicted plans were run"), "{warning}");
}
