//! What an answer leaves out is said with it.

use super::*;

fn evaluated(desk: &Desk, profile: &str, scenario: &str) -> (String, serde_json::Value) {
    let arguments = ["evaluate", scenario, "--profile", profile];
    let [text, json] = [&["--details"][..], &["--format", "json"]].map(|format| {
        let outcome = desk.run(&[&arguments[..], format].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
        outcome.stdout
    });
    // Wherever its lines end.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (text, serde_json::from_str(&json).expect("JSON"))
}

#[test]
fn the_context_and_kernels_that_no_trial_had_are_named() {
    let calibration = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration/h200");
    let calibration = calibration.to_str().expect("a name");
    let desk = Desk::new(VALID);
    let transform = VALID.replace("kernel = \"scale\"", "kernel = \"fft\"");
    std::fs::write(desk.path("fft.toml"), transform.replace("100_000", "131_072"))
        .expect("written");
    let (text, json) = evaluated(&desk, calibration, "fft.toml");
    assert!(text.contains("no trial of the calibration contained `fft`: "), "{text}");
    assert_eq!(json["scenarios"][0]["untried"], serde_json::json!(["fft"]));
    let context = json["context_ns"].as_u64().expect("measured") as f64 / 1e6;
    assert!(context > 1.0, "{json}");
    let words = format!("a new one pays {context:.0} ms for a CUDA context (");
    assert!(text.contains(&words), "{text}");
    let (text, json) = evaluated(&desk, calibration, "scenario.toml");
    assert!(!text.contains("no trial of the calibration"), "{text}");
    assert_eq!(json["scenarios"][0]["untried"], serde_json::json!([]));
    // This one had no trials.
    let (text, json) = evaluated(&desk, "profile.toml", "fft.toml");
    assert!(!text.contains("no trial of the calibration"), "{text}");
    assert!(json["scenarios"][0]["untried"].is_null(), "{json}");
}
