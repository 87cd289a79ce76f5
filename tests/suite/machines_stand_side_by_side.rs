//! Several machines are asked the same question, each in a row, with what it costs.

use super::commands::{hallway, printed};
use super::predicted::repository;
use serde_json::Value;
use std::process::Output;

fn evaluate(arguments: &[&str]) -> Output {
    hallway(repository(), ["evaluate"]).args(arguments).output().expect("it runs")
}

const TWO: [&str; 7] = [
    "scenarios/small-scale.toml",
    "--draws",
    "10",
    "--profile",
    "calibration/h200",
    "--profile",
    "calibration/others/one-h200/profile.toml",
];

fn json(arguments: &[&str]) -> Value {
    let how = ["evaluate", "--format", "json"];
    serde_json::from_str(&printed(hallway(repository(), how).args(arguments))).expect("JSON")
}

#[test]
fn each_machine_answers_as_if_it_were_asked_alone() {
    let both = json(&TWO);
    let names: Vec<&str> = both["machines"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["name"].as_str())
        .collect();
    assert_eq!(names, ["h200", "one-h200"]);
    for (at, profile) in ["calibration/h200", "calibration/others/one-h200"].iter().enumerate() {
        let alone = json(&["scenarios/small-scale.toml", "--draws", "10", "--profile", profile]);
        let (alone, here) = (&alone["scenarios"][0], &both["scenarios"][0]["answers"][at]);
        assert_eq!(here["winner"], alone["winner"]);
        assert_eq!(here["answer"], alone["verdict"]["answer"]);
        let plans = alone["plans"].as_array().expect("a list");
        let winner =
            plans.iter().find(|plan| plan["plan"] == alone["winner"]).expect("it is there");
        for key in ["predicted_ns", "low_ns", "high_ns"] {
            assert_eq!(here[key], winner[key], "{key}");
        }
        assert_eq!(here["cost"], Value::Null);
    }
}

#[test]
fn a_price_makes_the_cost_of_all_runs() {
    let priced = json(
        &[&TWO[..], &["--price", "h200=3.6", "--price", "one-h200=36", "--runs", "7"]].concat(),
    );
    let scenario = &priced["scenarios"][0];
    assert_eq!(scenario["runs"], 7);
    for (at, per_hour) in [3.6, 36.0].into_iter().enumerate() {
        let answer = &scenario["answers"][at];
        let seconds = answer["program_ns"].as_f64().expect("known") / 1e9;
        let cost = answer["cost"].as_f64().expect("priced");
        assert!((cost / (seconds / 3600.0 * per_hour) - 1.0).abs() < 1e-9, "{cost}");
    }
    assert_eq!(scenario["cheapest"], "h200");
    // The GPU's name is the machine's, too; here it is both machines'.
    let by_gpu = json(&[&TWO[..], &["--price", "NVIDIA H200=1"]].concat());
    assert!(
        by_gpu["machines"].as_array().expect("a list").iter().all(|m| m["price_per_hour"] == 1.0)
    );
    // A single machine has a price, too.
    let alone = json(&[&TWO[..5], &["--price", "h200=3.6", "--runs", "7"]].concat());
    assert_eq!(alone["scenarios"][0]["answers"][0], scenario["answers"][0]);
    let table = evaluate(&[&TWO[..], &["--price", "h200=3.6"]].concat());
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(text.contains("costs") && text.contains("Cheapest: `h200`."), "{text}");
    assert!(text.contains("no price or no predicted time): `one-h200`."), "{text}");
    let twice = evaluate(&[&TWO[..], &["--price", "h200=2", "--price", "h200=3"]].concat());
    assert_eq!(twice.status.code(), Some(2));
}
