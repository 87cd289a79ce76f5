//! In JSON, what is not known is `null`: no number, and no key left out. And what is not known
//! qualifies what is said.

use super::scored::verification;
use super::*;
use hallway::profile::Unknown;
use hallway::runs::Run;
use hallway::samples::{CalibrationExtent, Provenance};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// All keys in it, as paths.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(format!("{path}.{key}"));
                keys(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, path, found)),
        _ => {}
    }
}

#[test]
fn of_a_machine_that_little_is_said_of_are_null() {
    let mut profile = machine();
    let known = Origin::new("profile.toml", &profile);
    profile.machine.link = Provenance::NOT_SAID.to_owned();
    profile.machine.driver = Provenance::NOT_SHOWN.to_owned();
    profile.machine.cpu = Provenance::NOT_SAID.to_owned();
    (profile.machine.cpu_threads, profile.machine.unix_time) = (0, 0);
    profile.machine.extent = CalibrationExtent::Elsewhere;
    let unknown = Origin::new("profile.toml", &profile);
    let text = unknown.to_string();
    assert!(
        text.contains(", fitted to a table of samples\n")
            && text.contains("(link not said); not said")
    );
    let [known, unknown] = [known, unknown].map(|one| serde_json::to_value(one).expect("data"));
    let words = ["link", "driver", "cpu", "cpu_threads", "calibration_unix_time", "calibrated"];
    for key in words {
        assert!(!known[key].is_null(), "{key} is {}", known[key]);
        assert_eq!(unknown.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(unknown.get("disturbed"), Some(&Value::Null));
}

#[test]
fn of_one_pass_is_the_spread() {
    let mut alone = cell("cpu", 2_000, 2_010);
    (alone.scored.spread, alone.scored.passes) = (None, 1);
    let verification = verification(&[score(vec![alone])]);
    assert!(
        verification.text_within(None).contains("unknown"),
        "{}",
        verification.text_within(None)
    );
    let value: Value = serde_json::from_str(&report::json(&verification)).expect("JSON");
    let plan = &value["scenarios"][0]["plans"][0];
    assert_eq!((plan.get("spread"), &plan["passes"]), (Some(&Value::Null), &json!(1)));
    let passes_ns = vec![Span::from_micros(3)];
    let run = |passes_ns| Run {
        plan: "cpu".to_owned(),
        identity: String::new(),
        setups_ns: Vec::new(),
        passes_ns,
        beside_ns: Vec::new(),
        new_processes: Vec::new(),
        worst_error: 0.0,
    };
    assert_eq!(run(passes_ns.clone()).spread(), None);
    assert_eq!(run(passes_ns.repeat(2)).spread(), Some(0.0));
}

/// Whoever reads one evaluation can read the next.
#[test]
fn of_a_plan_have_the_keys_of_what_is_known() {
    let ranking = predicted(&scaling());
    let mut unknown = ranking.clone();
    for ranked in &mut unknown.plans {
        ranked.setup = Err(Unknown::new("what it takes to allocate"));
    }
    let [known, unknown] = [ranking, unknown].map(|ranking| {
        serde_json::from_str::<Value>(&report::json(&evaluation(&scaling(), &ranking)))
            .expect("JSON")
    });
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    keys(&known["scenarios"][0]["plans"], "", &mut names[0]);
    keys(&unknown["scenarios"][0]["plans"], "", &mut names[1]);
    assert_eq!(names[0], names[1]);
    assert!(names[0].contains(".critical_path.p2p"), "{names:?}");
    for key in ["setup_ns", "program_ns"] {
        assert_eq!(unknown["scenarios"][0]["plans"][0].get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(unknown["scenarios"][0].get("program_winner"), Some(&Value::Null));
}
