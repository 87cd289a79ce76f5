//! The committed calibration predicts the runs committed with it as well as hallway claims, and
//! scoring them again gives the same bytes.

use hallway::report::Verification;
use std::process::{Command, Output};

const SCENARIOS: [&str; 12] = [
    "scenarios/compute-polynomial.toml",
    "scenarios/exposure-levels.toml",
    "scenarios/image-batches.toml",
    "scenarios/matrix-products.toml",
    "scenarios/option-pricing.toml",
    "scenarios/reduce-sum.toml",
    "scenarios/separable-blur.toml",
    "scenarios/small-scale.toml",
    "scenarios/spectral-filter.toml",
    "scenarios/stencil-halo.toml",
    "scenarios/stream-saxpy.toml",
    "scenarios/three-task-graph.toml",
];

/// The claims, written out here so that they cannot move with the code.
const MEDIAN_ERROR: f64 = 0.03;
const P95_ERROR: f64 = 0.10;
const REGRET: f64 = 0.03;
/// At least this many scenarios have runs of at least `FULL_PLANS` plans.
const FULL_SCENARIOS: usize = 11;
const FULL_PLANS: usize = 12;

fn verify(scenarios: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hallway"))
        .args(["verify", "--recorded", "--format", "json"])
        .args(scenarios)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary was built")
}

/// Checks the summary, and computes it again from the plans.
#[test]
fn predictions_hold_against_the_recorded_runs() {
    let output = verify(&SCENARIOS);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}{out}");
    let verification: Verification = serde_json::from_str(&out).expect("the JSON has its own form");

    assert_eq!(verification.scenarios.len(), SCENARIOS.len());
    let full = verification.scenarios.iter().filter(|one| one.plans.len() >= FULL_PLANS).count();
    assert!(full >= FULL_SCENARIOS, "only {full} scenarios have {FULL_PLANS} plans");

    let overall = verification.overall.expect("plans were scored");
    assert!(overall.median <= MEDIAN_ERROR, "median error {}", overall.median);
    assert!(overall.p95 <= P95_ERROR, "95th percentile of errors: {}", overall.p95);
    let plans = verification.scenarios.iter().flat_map(|one| &one.plans);
    let mut errors: Vec<f64> = plans
        .map(|plan| (plan.predicted_ns.nanos_f64() / plan.measured_ns.nanos_f64() - 1.0).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    assert_eq!(errors.len(), overall.plans);
    assert!(errors[errors.len() / 2] <= MEDIAN_ERROR, "the plans' own median error");
    let within = errors.iter().filter(|&&error| error <= P95_ERROR).count();
    // One plan of leeway, because a quantile lies between two plans.
    assert!((within + 1) * 20 >= errors.len() * 19, "{within} of {} within", errors.len());

    for one in &verification.scenarios {
        let regret = one.regret.unwrap_or_else(|| panic!("{} has no regret", one.scenario));
        assert!(regret <= REGRET, "{}: regret {regret}", one.scenario);
        assert_eq!(one.verdict_right, Some(true), "{}: GPU or CPU called wrong", one.scenario);
    }
}

#[test]
fn scoring_again_gives_the_same_bytes() {
    let some = ["scenarios/small-scale.toml", "scenarios/reduce-sum.toml"];
    let [one, other] = [(); 2].map(|()| verify(&some));
    assert!(!one.stdout.is_empty(), "{}", String::from_utf8_lossy(&one.stderr));
    assert_eq!(one.stdout, other.stdout);
}

/// A new scenario must be added to the list, so that it is scored, too.
#[test]
fn every_scenario_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = std::fs::read_dir(folder).expect("readable");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut found: Vec<String> = entries
        .map(|entry| format!("scenarios/{}", name(entry.expect("readable"))))
        .filter(|path| path.ends_with(".toml"))
        .collect();
    found.sort();
    assert_eq!(found, SCENARIOS);
}
