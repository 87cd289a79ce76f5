//! The committed calibration predicts the runs committed with it as well as hallway claims. That
//! scoring them again gives the same bytes is held by the README's table.

use super::commands::ran;
use super::predicted::{repository, scenarios};
use hallway::report::{ScoredScenario, Verification};

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

/// Checks the summary, and computes it again from the plans.
#[test]
fn predictions_hold_against_the_recorded_runs() {
    let how = ["verify", "--recorded", "--format", "json"];
    let output = ran(repository(), how.iter().chain(&SCENARIOS));
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

/// A new scenario must be added to the list, so that it is scored, too.
#[test]
fn every_scenario_is_listed() {
    assert_eq!(scenarios(&[""]), SCENARIOS.map(|name| repository().join(name)));
}

/// By kind of plan, the median and the 95% quantile of the errors of random workloads, as they were
/// when these runs were committed.
const OF_RANDOM: [(&str, [f64; 2]); 5] = [
    ("cpu", [0.080, 0.448]),
    ("pageable", [0.041, 0.283]),
    ("pinned", [0.033, 0.163]),
    ("graph", [0.015, 0.127]),
    ("all", [0.037, 0.280]),
];
/// How many times as large a median and a quantile may become, beyond half a point.
const MARGINS: [f64; 2] = [1.1, 1.15];
const ROUNDED: f64 = 0.005;
/// The share of measured times that ranges held, less a point, and the wrong verdicts.
const IN_RANGE: f64 = 0.76;
const WRONG: usize = 1;
/// How many more verdicts may be wrong. Sides that tie change places with the random numbers of the
/// draws, which all shift when a price comes or goes.
const TIES: usize = 1;

/// The score of the recorded random plans of a seed on a machine.
fn of_random(machine: &str, [plans, seed]: [&str; 2]) -> Verification {
    let profile = format!("calibration/others/{machine}");
    let what = ["verify", "--random", plans, "--seed", seed, "--profile", &profile];
    let output = ran(repository(), what.iter().chain(&["--recorded", "--format", "json"]));
    let out = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&out).expect("the JSON has its own form")
}

/// No rule was written for these runs, so a change that makes them worse is a mistake.
#[test]
fn random_workloads_are_predicted_no_worse_than_before() {
    let verification = of_random("random-h200", ["500", "6308"]);
    assert_eq!(verification.kinds.len(), OF_RANDOM.len());
    for (of, (kind, before)) in verification.kinds.iter().zip(OF_RANDOM) {
        assert_eq!(of.kind, kind);
        let found = [of.errors.median, of.errors.p95];
        for ((found, before), margin) in found.into_iter().zip(before).zip(MARGINS) {
            assert!(found <= margin * before + ROUNDED, "{kind}: {found}, not {before}");
        }
    }
    let all = verification.overall.expect("plans were scored");
    assert!(all.coverage >= IN_RANGE, "{} of the times are in their ranges", all.coverage);
    let is_wrong = |one: &&ScoredScenario| one.verdict_right == Some(false);
    let wrong = verification.scenarios.iter().filter(is_wrong).count();
    assert!(wrong <= WRONG + TIES, "{wrong} verdicts are wrong");
}

/// What plans take once is dominated by the context; these limits are those of the whole.
const SET_UP_MEDIAN: f64 = 0.10;
const SET_UP_WORST: f64 = 0.30;

/// Each plan was set up in a process of its own.
#[test]
fn set_up_is_predicted_as_well_as_claimed() {
    let verification = of_random("pair-h200", ["120", "93326"]);
    let errors = verification.set_up.and_then(|set_up| set_up.errors).expect("it was run");
    assert!(errors.plans >= 90, "{} plans", errors.plans);
    assert!(errors.median <= SET_UP_MEDIAN, "{}", errors.median);
    assert!(errors.worst <= SET_UP_WORST, "{}", errors.worst);
}
