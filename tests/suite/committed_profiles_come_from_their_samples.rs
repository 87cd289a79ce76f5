//! A committed profile equals a fit of its samples, and predicts the trials among them as well as
//! it claims to.

use super::predicted::repository;
use hallway::profile::Profile;
use std::process::Command;
use toml::Value;

/// Results of a logarithm differ from one C library to another.
const CLOSE: f64 = 1e-9;

/// A fit takes seconds. This one has all mechanisms: the others have the same of one GPU.
const FITTED: &str = "others/two-h200";

#[test]
fn each_is_fitted_by_this_version_and_does_well_on_its_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, devices, most) in [
        ("h200", 1, 0.02),
        ("others/one-h200", 1, 0.02),
        // By the random numbers of the draws, 0.019 to 0.022.
        ("others/programs-h200", 1, 0.025),
        // Others came and went on their CPUs.
        ("others/two-h200", 2, 0.04),
        ("others/busy-h200", 1, 0.04),
        ("others/graphs-h200", 1, 0.04),
        ("others/memory-h200", 1, 0.04),
        ("others/random-h200", 1, 0.04),
    ] {
        let committed = repository().join("calibration").join(name);
        let found = committed.join("profile.toml");
        let profile = Profile::load(&found).expect("committed");
        if name == FITTED {
            let again = folder.path().join("again.toml");
            let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
            command.arg("fit").arg(committed.join("samples.jsonl")).arg("--output").arg(&again);
            assert!(command.output().expect("it runs").status.success(), "{name}");
            let [fitted, found] = [&again, &found].map(|path| {
                let text = std::fs::read_to_string(path).expect("there");
                text.parse::<toml::Table>().map(Value::Table).expect("profiles are TOML")
            });
            assert!(is_close(&fitted, &found), "{name}: fit all again with `hallway fit`");
        }
        assert_eq!(profile.machine.devices, devices, "{name}");
        let accuracy = profile.accuracy.expect("it was tried");
        assert!(accuracy.median_error <= most, "{name}: {} off", accuracy.median_error);
        assert!((0.85..=0.95).contains(&accuracy.coverage), "{name}: {}", accuracy.coverage);
    }
}

fn is_close(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => {
            (one - other).abs() <= CLOSE * one.abs().max(other.abs())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_close(one, other))
        }
        (Value::Table(one), Value::Table(other)) => {
            let has_close = |(key, one)| other.get(key).is_some_and(|other| is_close(one, other));
            one.len() == other.len() && one.iter().all(has_close)
        }
        _ => one == other,
    }
}
