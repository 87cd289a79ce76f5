//! Each rule of the simulator and each filter of the fit has a name and a switch, and the ledger
//! says what it is worth.

use super::commands::{hallway, printed, ran};
use super::predicted::repository;
use hallway::compare::Ledger;
use hallway::fit::{Filter, fit, fit_without};
use hallway::profile::{Profile, Rule};
use hallway::samples::Samples;
use std::collections::BTreeSet;
use std::ffi::OsStr;

const ONE: &str = "calibration/others/memory-h200";

fn profile(folder: &str) -> Profile {
    Profile::load(&repository().join(folder).join("profile.toml")).expect("committed")
}

/// The rules that have prices in some profile, or something else to forget.
fn changed_by(profile: &Profile) -> BTreeSet<Rule> {
    let is_changed =
        |&rule: &Rule| Profile { switched_off: Vec::new(), ..profile.without(rule) } != *profile;
    Rule::ALL.into_iter().filter(is_changed).collect()
}

/// Rules without prices, which the simulator asks for by name.
const ASKED_FOR: [Rule; 5] = [
    Rule::KernelTails,
    Rule::Channels,
    Rule::Doorbells,
    Rule::RestartedPeriods,
    Rule::PollsAtNodes,
];

#[test]
fn a_switch_takes_out_what_only_its_rule_has() {
    let mut changed = changed_by(&profile("calibration/others/two-h200"));
    changed.extend(changed_by(&profile("calibration/others/random-h200")));
    for rule in Rule::ALL {
        assert_eq!(changed.contains(&rule), !ASKED_FOR.contains(&rule), "{rule}");
    }
    for rule in ASKED_FOR {
        let without = profile(ONE).without(rule);
        assert!(!without.follows(rule) && without.follows(Rule::NewPages), "{rule}");
    }
}

#[test]
fn rules_and_filters_are_described_under_their_names() {
    let text = std::fs::read_to_string(repository().join("docs/simulator.md")).expect("a page");
    let (rules, filters) = (Rule::ALL.map(Rule::name), Filter::ALL.map(Filter::name));
    for name in rules.iter().chain(&filters) {
        assert!(text.contains(&format!("`{name}`")), "{name} is not described");
    }
}

/// Disturbances that this host did not meet: its fit is the same without their filters.
const NOT_MET: [Filter; 4] =
    [Filter::HeldUp, Filter::Contradictions, Filter::Hindrances, Filter::Fallen];

#[test]
fn a_fit_without_a_filter_differs() {
    let path = repository().join("calibration/others/busy-h200/samples.jsonl");
    let samples = Samples::load(&path).expect("committed");
    let with = fit(&samples).expect("measured");
    for filter in Filter::ALL {
        let without = fit_without(&samples, &[filter]).expect("measured");
        assert_eq!(without == with, NOT_MET.contains(&filter), "{filter}");
    }
}

/// A prediction without a rule differs, and says so.
#[test]
fn predictions_can_leave_rules_out() {
    let said = |options: &[&str]| {
        let arguments = ["evaluate", "scenarios/three-task-graph.toml"];
        printed(&mut hallway(repository(), arguments.iter().chain(options)))
    };
    let without = said(&["--without", "doorbells", "--without", "new-pages"]);
    assert!(without.contains("Left out: rules doorbells, new-pages."), "{without}");
    let with = said(&[]);
    assert!(!with.contains("Left out"), "{with}");
    let explain = ["explain", "scenarios/three-task-graph.toml", "--without", "doorbells"];
    let explained = printed(&mut hallway(repository(), explain));
    assert!(explained.ends_with("Left out: rule doorbells.\n"), "{explained}");
    let unknown = ran(repository(), ["evaluate", "a.toml", "--without", "no-such-rule"]);
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(told.contains("the rules are launches-beside-copies, "), "{told}");
}

/// Most plans of these runs exercise inline copies. None has more streams than channels.
#[test]
fn the_ledger_scores_recorded_runs_without_a_rule() {
    let arguments =
        ["ledger", ONE, "--rule", "inline-copies", "--rule", "channels", "--format", "json"];
    let ledger = printed(&mut hallway(repository(), arguments));
    let ledger: Ledger = serde_json::from_str(&ledger).expect("its own form");
    let [inline, channels] = &ledger.rules[..] else { panic!("two rules") };
    let [machine] = &ledger.machines[..] else { panic!("one machine") };
    assert_eq!((machine.name.as_str(), machine.errors.plans), ("memory-h200", 120));
    let all = inline.all.expect("exercised");
    assert!(all.with.plans > 60 && all.with.plans < 120, "{}", all.with.plans);
    assert!(all.without.p95 > all.with.p95 && inline.pays == Some(true), "{all:?}");
    assert_eq!(inline.machines, [inline.all]);
    assert_eq!((channels.all, channels.pays), (None, None));
    assert!(ledger.filters.is_empty());
}

/// Without the filter of outliers, most predictions differ. Rules are left out if only filters are
/// named.
#[test]
fn the_ledger_scores_recorded_runs_without_a_filter() {
    let arguments = ["ledger", ONE, "--filter", "outliers", "--format", "json"];
    let ledger = printed(&mut hallway(repository(), arguments));
    let ledger: Ledger = serde_json::from_str(&ledger).expect("its own form");
    let [outliers] = &ledger.filters[..] else { panic!("one filter") };
    let all = outliers.all.expect("exercised");
    assert!(ledger.rules.is_empty() && outliers.name == "outliers" && all.with.plans > 100);
    assert!(all.without.median > all.with.median && outliers.pays == Some(true), "{all:?}");
}

#[test]
fn a_ledger_needs_recorded_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("alone.toml");
    std::fs::copy(repository().join(ONE).join("profile.toml"), &path).expect("copied");
    let output = ran(repository(), [OsStr::new("ledger"), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no runs of random plans next to ") && told.contains("alone.toml"));
    assert!(told.contains("verify --random"), "{told}");
}
