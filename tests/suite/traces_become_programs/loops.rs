//! What a loop's passes say of the program: several of them, and how much they differ.

use super::super::commands::{hallway, printed, ran};
use super::super::predicted::repository;
use super::{DEFAULT, Story};
use hallway::scenario::Workload;
use hallway::trace::{MemoryKind, SpelledPart, Spelling, Trace};
use serde_json::Value;

/// Eight passes of a copy, a kernel and a wait. The host's work before each takes so many
/// microseconds, and so do the kernels.
fn passes(work: [u64; 8], kernels: [u64; 8]) -> Trace {
    let mut story = Story::new();
    for (work, kernel) in work.into_iter().zip(kernels) {
        story.now += work;
        let now = story.now;
        story.upload(MemoryKind::Pinned, DEFAULT, 5, [now + 5, now + 105]);
        story.kernel("k", DEFAULT, [now + 110, now + 110 + kernel]);
        story.wait(DEFAULT, now + 120 + kernel);
    }
    story.trace
}

fn spelled(trace: &Trace, part: impl Into<SpelledPart>, work_range: Option<f64>) -> Workload {
    let how = Spelling { work_range, ..Spelling::default() };
    let text = trace.spelled("loop", part, how).text;
    Workload::from_toml("loop.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn several_passes_are_the_first_and_then_the_usual_one() {
    let trace = passes([900, 40, 40, 40, 40, 40, 40, 40], [50; 8]);
    let pass = trace.pass().expect("a loop");
    let one = spelled(&trace, SpelledPart::usual(&trace, Some(&pass)), None);
    let five = spelled(&trace, SpelledPart::passes(&pass, 5), None);
    let launches = |workload: &Workload| {
        workload.programs[0].body.iter().filter(|call| call.is_launch()).count()
    };
    assert_eq!([launches(&one), launches(&five)], [1, 5]);
    // The work before the first copy is that of the first pass alone.
    let worked = |workload: &Workload| -> u64 {
        let calls = workload.programs[0].body.iter();
        calls.filter_map(|call| call.stated_time()).map(|time| time.nanos()).sum()
    };
    let usual = worked(&one);
    assert!(worked(&five) < 900_000 + 5 * usual + 1_000, "{} {usual}", worked(&five));
}

#[test]
fn passes_that_differ_give_ranges_and_equal_ones_give_none() {
    let steady = passes([40; 8], [50; 8]);
    let pass = steady.pass().expect("a loop");
    assert_eq!(steady.host_scatter(&pass), None);
    let text = steady.spelled("loop", 0..steady.calls.len(), Spelling::default()).text;
    assert!(!text.contains("range"), "{text}");
    let uneven = passes([40, 44, 36, 40, 60, 40, 42, 40], [50, 50, 55, 50, 50, 45, 50, 50]);
    let pass = uneven.pass().expect("a loop");
    let scatter = uneven.host_scatter(&pass).expect("passes differ");
    let usual = spelled(&uneven, SpelledPart::usual(&uneven, Some(&pass)), Some(scatter));
    let program = &usual.programs[0];
    let rounded = (scatter * 1_000.0).round() / 1_000.0;
    assert!((program.work_range.expect("stated") - rounded).abs() < 1e-9, "{scatter}");
    let costs = program.kernels.iter().flat_map(|kernel| kernel.costs());
    let ranges: Vec<f64> = costs.filter_map(|cost| cost.range()).collect();
    assert!(matches!(ranges[..], [range] if (0.05..0.2).contains(&range)), "{ranges:?}");
}

const TRACE: &str = "tests/traces/repeated.json.gz";

#[test]
fn a_trace_stands_wherever_a_scenario_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("repeated.toml");
    std::fs::write(&file, printed(&mut hallway(repository(), ["import", TRACE]))).expect("written");
    let evaluated = |path: &str| -> Value {
        let arguments = ["evaluate", path, "--format", "json", "--draws", "20"];
        serde_json::from_str(&printed(&mut hallway(repository(), arguments))).expect("JSON")
    };
    let [direct, by_file] = [TRACE, file.to_str().expect("a name")].map(evaluated);
    assert_eq!(direct["scenarios"], by_file["scenarios"]);
}

#[test]
fn what_a_trace_shows_is_json_as_well() {
    let arguments = ["explain", TRACE, "--format", "json"];
    let shown: Value =
        serde_json::from_str(&printed(&mut hallway(repository(), arguments))).expect("JSON");
    assert_eq!(shown["passes"], 10);
    assert_eq!(shown["sites"][0]["reason"], "pageable");
    let number = |key: &str| shown[key].as_f64().expect("a number");
    let parts = ["kernels_alone_ns", "copies_alone_ns", "both_ns", "idle_ns"].map(number);
    assert!((parts.iter().sum::<f64>() - number("pass_ns")).abs() < 2.0, "{shown:#}");
    let path = shown["critical_path_ns"].as_object().expect("simulated");
    let on_path: f64 = path.values().filter_map(Value::as_f64).sum();
    assert!((on_path / number("pass_ns") - 1.0).abs() < 0.05, "{shown:#}");
    let scenario = "scenarios/stream-saxpy.toml";
    let refused = ran(repository(), ["explain", scenario, "--format", "json"]);
    assert_eq!(refused.status.code(), Some(2));
}
