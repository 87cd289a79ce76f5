//! Predictions beside runs: what passes, what fails, and why.

use super::*;
use hallway::report::{Verification, json};

pub(super) fn verification(scores: &[Score]) -> Verification {
    Verification::new(Origin::new("profile.toml", &machine()), scores)
}

#[test]
fn good_predictions_pass() {
    let right = score(vec![cell("cpu", 2_000, 2_010), cell("resident, pinned", 1_000, 1_010)]);
    let verification = verification(&[right.clone(), right]);
    assert!(verification.passed(), "{}", verification.text_within(None));
    let text = verification.text_within(None);
    for words in ["resident, pinned", "-1.0%", "median error: 0.7% over 4 plans (limit: 3.0%)"] {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
    assert!(!text.contains("FAIL"), "{text}");
    let markdown = verification.markdown();
    assert_eq!(markdown.lines().filter(|line| line.starts_with('|')).count(), 5, "{markdown}");
    let back = serde_json::from_str::<Verification>(&json(&verification)).expect("JSON");
    assert_eq!(back, verification);
}

#[test]
fn passes_beside_others_are_counted() {
    let alone = cell("cpu", 2_000, 2_010);
    let shared = Cell { beside: 20, ..cell("resident, pinned", 1_000, 1_010) };
    let text = verification(&[score(vec![alone.clone(), shared])]).text_within(None);
    assert!(
        text.contains("Not counted: 20 of 200 timed runs (10%), during which something"),
        "{text}"
    );
    assert!(!verification(&[score(vec![alone])]).text_within(None).contains("Not counted"));
}

#[test]
fn every_limit_is_a_check_of_its_own() {
    let cases = [
        // All within 4%, which is too much for the median alone.
        (
            vec![cell("cpu", 2_080, 2_000), cell("a", 1_040, 1_000)],
            "median error: 4.0% over 2 plans (limit:",
        ),
        // One outlier in few plans.
        (
            vec![cell("cpu", 4_000, 4_000), cell("a", 1_000, 1_000), cell("b", 3_600, 3_000)],
            "95th percentile of errors: 18.0%",
        ),
        // The order is wrong by little, and the choice is 5% off.
        (
            vec![cell("cpu", 2_000, 2_000), cell("a", 1_000, 1_050), cell("b", 1_001, 1_000)],
            "largest regret: 5.0%, in demo (limit:",
        ),
        // The CPU was taken for faster, by next to nothing.
        (
            vec![cell("cpu", 1_000, 1_001), cell("a", 1_002, 1_000)],
            "correct verdicts (GPU or CPU): 0 of 1",
        ),
    ];
    for (cells, words) in cases {
        let verification = verification(&[score(cells)]);
        assert!(!verification.passed());
        let failed: Vec<&str> =
            verification.checks.iter().filter(|c| !c.passed).map(|c| c.what.as_str()).collect();
        assert!(failed.iter().any(|what| what.contains(words)), "{failed:?}");
        assert!(verification.text_within(None).contains("FAIL"));
    }
}

#[test]
fn runs_that_fit_no_plan_are_a_failure() {
    let verification = verification(&[score(Vec::new())]);
    assert!(!verification.passed());
    assert!(
        verification
            .text_within(None)
            .contains("no run of demo matches one of its plans: verify it on the GPU")
    );
    assert!(!verification.markdown().is_empty());
}
