//! Runs: outputs that were wrong, plans under other names, scenarios that changed.

use super::{committed, file, folder, hallway, refused, repository};
use hallway::runs::RunSet;
use std::path::PathBuf;
use tempfile::TempDir;

/// A profile's folder with runs of `small-scale`, and the scenario.
fn beside_a_profile(runs: &str, scenario: &str) -> (TempDir, [PathBuf; 2]) {
    let folder = folder();
    let profile = folder.path().join("profile.toml");
    std::fs::write(&profile, committed("profile.toml")).expect("written");
    std::fs::create_dir(folder.path().join("runs")).expect("made");
    std::fs::write(folder.path().join("runs/small-scale.json"), runs).expect("written");
    let workload = folder.path().join("scenario.toml");
    std::fs::write(&workload, scenario).expect("written");
    (folder, [profile, workload])
}

fn scenario() -> String {
    std::fs::read_to_string(repository().join("scenarios/small-scale.toml")).expect("committed")
}

#[test]
fn an_output_that_was_wrong_is_no_run() {
    let text = committed("runs/small-scale.json");
    for wrong in ["1e30", "-1.0", "0.01"] {
        let text = text.replacen("\"worst_error\":0.0", &format!("\"worst_error\":{wrong}"), 1);
        let (_folder, path) = file("small-scale.json", text);
        let error = RunSet::load(&path).expect_err(wrong).to_string();
        assert!(error.contains("`worst_error` of"), "{error}");
    }
}

#[test]
fn a_run_has_the_name_of_what_was_run() {
    let text = committed("runs/small-scale.json");
    let other = text.replacen("\"plan\":\"cpu\"", "\"plan\":\"quickest\"", 1);
    assert_ne!(other, text);
    let (folder, [profile, workload]) = beside_a_profile(&other, &scenario());
    for command in ["verify", "plot"] {
        let pictures = folder.path().join("plots");
        let mut arguments = vec![command.as_ref(), workload.as_os_str(), "--profile".as_ref()];
        arguments.push(profile.as_os_str());
        match command {
            "verify" => arguments.push("--recorded".as_ref()),
            _ => arguments.extend(["--output".as_ref(), pictures.as_os_str()]),
        }
        let error = refused(&hallway(arguments));
        assert!(error.contains(": the run named `quickest` is a run of `cpu`"), "{error}");
    }
}

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
fn a_scenario_that_changed_under_its_name_is_told() {
    let changed = scenario().replace("16_384", "32_768");
    assert_ne!(changed, scenario());
    let runs = committed("runs/small-scale.json");
    let (_folder, [profile, workload]) = beside_a_profile(&runs, &changed);
    let error = refused(&hallway([
        "verify".as_ref(),
        "--recorded".as_ref(),
        workload.as_os_str(),
        "--profile".as_ref(),
        profile.as_os_str(),
    ]));
    assert!(
        error.contains("`small-scale` has changed since its plans were run: none of the"),
        "{error}"
    );
    assert!(!error.contains("0 were run"), "{error}");
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
