//! A committed profile equals a fit of its samples, and predicts the trials among them as well as
//! it claims to.

use hallway::kernels::{Kernel, Variant};
use hallway::profile::Profile;
use hallway::samples::{FORMAT, Measurement, Quantity, Samples, WRITTEN_THROUGH};
use hallway::units::Bytes;
use std::path::Path;
use std::process::Command;
use toml::Value;

/// Results of a logarithm differ from one C library to another.
const CLOSE: f64 = 1e-9;

#[test]
fn each_is_fitted_by_this_version_and_does_well_on_its_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, devices, most) in [
        ("h200", 1, 0.02),
        ("others/one-h200", 1, 0.02),
        ("others/programs-h200", 1, 0.02),
        // Others came and went on their CPUs.
        ("others/two-h200", 2, 0.04),
        ("others/busy-h200", 1, 0.04),
        ("others/graphs-h200", 1, 0.04),
        ("others/memory-h200", 1, 0.04),
    ] {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration").join(name);
        let again = folder.path().join("again.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
        command.arg("fit").arg(committed.join("samples.jsonl")).arg("--output").arg(&again);
        assert!(command.output().expect("it runs").status.success(), "{name}");
        let committed = committed.join("profile.toml");
        let [fitted, found] = [&again, &committed].map(|path| {
            let text = std::fs::read_to_string(path).expect("there");
            text.parse::<toml::Table>().map(Value::Table).expect("profiles are TOML")
        });
        assert!(is_close(&fitted, &found), "{name}: fit it again with `hallway fit`");
        let profile = Profile::load(&committed).expect("committed");
        assert_eq!(profile.machine.devices, devices, "{name}");
        let accuracy = profile.accuracy.expect("it was tried");
        assert!(accuracy.median_error <= most, "{name}: {} off", accuracy.median_error);
        assert!((0.85..=0.95).contains(&accuracy.coverage), "{name}: {}", accuracy.coverage);
    }
}

/// Twins that have changed since a samples format are left out of its files: their times say
/// nothing about the twins of today.
#[test]
fn outdated_twins_are_left_out_of_older_samples() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration/h200/samples.jsonl");
    let text = std::fs::read_to_string(&committed).expect("committed");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.jsonl");
    let load = |format: u32| {
        let [own, other] = [FORMAT, format].map(|it| format!("{{\"hallway_samples\":{it},"));
        assert!(text.starts_with(&own), "today's");
        std::fs::write(&path, text.replacen(&own, &other, 1)).expect("room");
        Samples::load(&path).expect("samples")
    };
    let twins = |samples: &Samples| {
        [Kernel::BlackScholes, Kernel::Histogram, Kernel::Sum].map(|kernel| {
            let is_of = |variant: &Variant| variant.kernel == kernel;
            let all = samples.measurements.iter();
            all.filter(
                |one| matches!(&one.quantity, Quantity::Twin { variant, .. } if is_of(variant)),
            )
            .count()
        })
    };
    let today = load(FORMAT);
    let [options, histograms, sums] = twins(&today);
    assert!(today.outdated == 0 && [options, histograms, sums].iter().all(|&count| count > 20));
    for (format, left) in [(4, [0, 0, sums]), (5, [options, 0, sums])] {
        let before = load(format);
        assert_eq!(twins(&before), left, "{format}");
        assert_eq!(before.measurements.len() + before.outdated, today.measurements.len());
    }
}

/// Samples of older formats do not state the footprint. It was larger than any cache.
#[test]
fn copies_both_ways_of_older_samples_have_a_large_footprint() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration/h200/samples.jsonl");
    let footprint = |one: &Measurement| match one.quantity {
        Quantity::Shared { footprint, .. } => Some(footprint),
        _ => None,
    };
    let text = std::fs::read_to_string(&committed).expect("committed");
    let (header, rest) = text.split_once('\n').expect("lines");
    let header = header.replacen(&format!("samples\":{FORMAT}"), "samples\":3", 1);
    let of_before = |line: &str| match line.split_once(",\"footprint\":") {
        Some((head, tail)) if line.contains("\"what\":\"shared\"") => {
            format!("{head}{}", &tail[tail.find('}').expect("its end")..])
        }
        _ => line.to_owned(),
    };
    let lines = std::iter::once(header).chain(rest.lines().map(of_before));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.jsonl");
    std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").expect("room");
    let samples = Samples::load(&path).expect("samples");
    let footprints: Vec<Bytes> = samples.measurements.iter().filter_map(footprint).collect();
    assert!(!footprints.is_empty());
    assert!(footprints.iter().all(|&all| all == WRITTEN_THROUGH));
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
