//! Times that are longer than 292 years, which nothing can count: no sum of them wraps, none is
//! compared with another, and no machine of a profile that is taken panics over them.

use super::{committed, file, hallway, repository};
use crate::predicted::PROFILE;
use crate::workloads::{self, ON_HOST, floats};
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::simulate::makespan;
use hallway::units::{Instant, Span};
use serde_json::Value;
use std::fmt::Write;

const HEAD: &str = "schema_version = 1\nname = \"long\"\nquestion = \"How long?\"\n";

/// A kernel whose times are stated, over small buffers.
fn task(runs: &str, gpu: &str, cpu: &str) -> String {
    let kernel = format!("[[kernel]]\nname = \"k\"\n{gpu}\ncpu = {{ {cpu} }}\n");
    let task = workloads::task("t", "k", &["x"], "y", "");
    format!("{HEAD}{runs}\n{}{kernel}{task}", floats(["x", "y"], 1000, ON_HOST))
}

fn error_of(text: &str) -> String {
    Workload::from_toml("long.toml", text).map(|_| ()).expect_err("too long").to_string()
}

#[test]
fn sums_and_products_end_at_the_longest_span() {
    let longest = Span::LONGEST;
    assert_eq!(Span::from_nanos(u64::MAX), longest);
    assert_eq!(Span::from_nanos_f64(1e300), longest);
    assert_eq!(Span::from_millis(u64::MAX), longest);
    assert_eq!(longest + longest, longest);
    assert_eq!(Span::from_nanos(73_787_000_000_000) * 1_000_000, longest, "it would wrap");
    assert_eq!([longest; 3].into_iter().sum::<Span>(), longest);
    assert_eq!((Instant::START + longest + longest).since_start(), longest);
    assert!(longest.nanos_f64() > 9.2e18, "and not negative");
    assert_eq!(longest.in_years(), "292 years");
    let read: Span = serde_json::from_str("18446744073709551615").expect("a number");
    assert_eq!(read, longest);
}

/// The times of both sides wrapped to a quarter of a millionth of what they are, and the other side
/// won.
#[test]
fn runs_that_take_too_long_to_count_are_refused_at_their_key() {
    let stated = ("stated = { fixed = \"10 s\" }", "stated = { fixed = \"73787 s\" }");
    let error = error_of(&task("runs = 1_000_000", stated.0, stated.1));
    let words = "long.toml:4:8: 1000000 runs of a stated 73787 s take more than 292 years";
    assert!(error.starts_with(words), "{error}");
    let text = task("runs = 100", stated.0, stated.1);
    let (_folder, path) = file("long.toml", &text);
    let profile = repository().join("calibration/h200");
    let ask = |runs: &str, format: &str| {
        let path = path.as_os_str();
        let profile =
            ["--profile".as_ref(), profile.as_os_str(), "--draws".as_ref(), "10".as_ref()];
        let arguments = ["evaluate".as_ref(), path, "--runs".as_ref(), runs.as_ref()];
        let format = ["--format".as_ref(), format.as_ref()];
        hallway(arguments.into_iter().chain(profile).chain(format))
    };
    let answered = ask("1000", "json");
    let said: Value = serde_json::from_slice(&answered.stdout).expect("JSON");
    let verdict = &said["scenarios"][0]["verdict"];
    assert_eq!(verdict["answer"], "gpu", "{verdict}");
    let seconds = |side: &str| verdict["program"][side]["time_ns"].as_f64().map(|ns| ns / 1e9);
    assert_eq!(seconds("chosen").map(f64::round), Some(10_000.0), "{verdict}");
    assert_eq!(seconds("other").map(f64::round), Some(73_787_000.0), "{verdict}");
    let unanswered = ask("1000000", "table");
    let said = String::from_utf8_lossy(&unanswered.stderr).into_owned();
    assert_eq!(unanswered.status.code(), Some(1), "{said}");
    assert!(
        said.contains("1000000 runs of `cpu` at 73787 s each take more than the limit of 292"),
        "{said}"
    );
    assert!(said.contains("--runs"), "{said}");
}

#[test]
fn a_pass_that_takes_too_long_to_simulate_is_refused_where_it_is_stated() {
    let work =
        "[[program]]\nname = \"a\"\ncalls = [{ repeat = 200000, calls = [{ work = \"DAY\" }] }]\n"
            .replace("DAY", "86400 s");
    let error = error_of(&format!("{HEAD}{work}"));
    assert!(error.starts_with("long.toml:6:47: the stated times of the program"), "{error}");
    assert!(error.contains("146 years"), "{error}");
    let days = ("stated = { fixed = \"86400 s\" }", "stated = { fixed = \"1 s\" }");
    let error = error_of(&(task("", days.0, days.1) + "iterations = 100_000\n"));
    assert!(error.contains("the stated time of a run is 273 years"), "{error}");
}

/// What is not stated shows only with a profile.
#[test]
fn a_pass_that_is_predicted_to_take_too_long_is_not_predicted() {
    let heavy = "roofline = { flops_per_element = 9e14, bytes_per_element = 0 }";
    let text = task("", heavy, "stated = { fixed = \"1 s\" }") + "iterations = 200_000\n";
    let time = |elements: u64| {
        let text = text.replace("elements = 1000\n", &format!("elements = {elements}\n"));
        let workload = Workload::from_toml("long.toml", &text).expect("nothing long is stated");
        let plans = candidates(&workload).programs();
        let resident = plans.into_iter().find(|plan| plan.label == "resident, pinned");
        makespan(&resident.expect("a plan"), &PROFILE)
    };
    assert!(time(1000).expect("90 years") > Span::from_seconds_f64(1e9));
    let error = time(3000).expect_err("too long").to_string();
    assert!(error.contains("a run of more than 146 years"), "{error}");
}

/// What is steeper or scatters more is refused: `tests/said/damaged.md`.
#[test]
fn the_widest_that_is_taken_does_not_panic() {
    let profile = committed("profile.toml");
    let mut worst = String::new();
    for line in profile.lines() {
        let line = if line.starts_with("scatter = ") { "scatter = 10.0" } else { line };
        let _ = writeln!(worst, "{line}");
    }
    let (_folder, path) = file("profile.toml", worst);
    for scenario in ["scenarios/small-scale.toml", "scenarios/programs/managed-memory.toml"] {
        let arguments = ["evaluate", scenario, "--draws", "10", "--profile"].map(AsRef::as_ref);
        let output = hallway(arguments.into_iter().chain([path.as_os_str()]));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{scenario}: {said}");
    }
}
