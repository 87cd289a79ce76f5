//! Predictions beside runs: what passes, what fails, and why.

use super::*;
use hallway::report::Verification;

pub(super) fn verification(scores: &[Score]) -> Verification {
    Verification::new(Origin::new("profile.toml", &machine()), scores)
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
