//! What is said of one scenario, in sentences that tests look for. How sentences that no page shows
//! are worded is held in `tests/said`, once.

use super::predicted::repository;
use hallway::findings::Assessment;
use hallway::profile::Profile;
use hallway::report::{Evaluation, Origin, Rows};
use hallway::simulate::Draws;

pub fn evaluation(assessment: Assessment, profile: &Profile) -> Evaluation {
    let origin = Origin::new("calibration/h200/profile.toml", profile);
    Evaluation::new((origin, profile), Draws::new(40, 1), vec![assessment])
}

/// All that is known of a scenario.
pub fn text(assessment: &Assessment, profile: &Profile) -> String {
    evaluation(assessment.clone(), profile).text_within(Rows::All, None)
}

/// The sentence that says what to choose: it follows the title.
#[track_caller]
pub fn answer(text: &str) -> &str {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    lines.nth(1).unwrap_or_else(|| panic!("no answer: {text}"))
}

/// The sentences with a label in front of them.
pub fn labelled<'a>(text: &'a str, label: &str) -> Vec<&'a str> {
    let behind = |line: &'a str| line.strip_prefix(label)?.strip_prefix("  ");
    text.lines().filter_map(behind).map(str::trim).collect()
}

/// The one sentence with a label in front of it.
#[track_caller]
pub fn the<'a>(text: &'a str, label: &str) -> &'a str {
    let found = labelled(text, label);
    assert_eq!(found.len(), 1, "`{label}`: {text}");
    found[0]
}

/// A text is as it stands in a file of the repository. With `BLESS=1`, it is written there anew.
#[track_caller]
pub fn is_as_blessed(path: &str, now: &str) {
    let file = repository().join(path);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, now).expect("written");
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let differ = there.lines().zip(now.lines()).find(|(there, now)| there != now);
    assert!(there == now, "{path} is not what is said now: bless it. First difference: {differ:?}");
}
