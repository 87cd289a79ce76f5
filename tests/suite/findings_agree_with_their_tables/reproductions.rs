//! Answers that misled somebody once, each on the committed profile: what is right is in the JSON
//! and on the first screen.

use super::super::predicted::PROFILE;
use super::super::workloads::{ON_DEVICE, PINNED, buffer, head, read};
use super::{evaluation, json};
use hallway::report::Rows;
use hallway::scenario::Workload;
use serde_json::Value;

/// What is said of a scenario of programs: as values, and on the first screen in words, on one
/// line.
fn said(workload: &Workload) -> (Value, String) {
    let found = evaluation(workload, &PROFILE, false);
    let text = found.text_within(Rows::Screen, Some(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    (json(&found), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn only(answer: &Value) -> &Value {
    let [scenario] = &answer["scenarios"].as_array().expect("a list")[..] else {
        panic!("one answer: {answer}")
    };
    scenario
}

fn row<'j>(scenario: &'j Value, plan: &str) -> &'j Value {
    let rows = scenario["plans"].as_array().expect("a list");
    rows.iter().find(|row| row["plan"] == plan).unwrap_or_else(|| panic!("no `{plan}`"))
}

/// Two ways to fill the GPU's memory, of which one computes on the CPU.
#[test]
fn a_program_without_a_launch_may_still_use_the_gpu() {
    let buffers = [("x", "f32", PINNED), ("half", "f16", PINNED), ("h", "f16", ON_DEVICE)]
        .map(|(name, of, home)| buffer(name, of, 1_000_000, home));
    let buffers = buffers.concat();
    let rest = r#"
[[kernel]]
name = "convert"
stated = { fixed = "2 us", per_element = "0.005 ns" }
cpu = { stated = { fixed = "2 us", per_element = "0.3 ns" } }
[[program]]
name = "halved on the CPU"
result = "halves"
calls = [
    { compute = "convert", reads = ["x"], writes = ["half"], elements = 1_000_000 },
    { copy = "half", to = "h" },
]
[[program]]
name = "halved on the GPU"
result = "halves"
memory = [{ name = "d", kind = "device", size = "4 MB" }]
calls = [
    { copy = "x", to = "d" },
    { launch = "convert", reads = ["d"], writes = "h", elements = 1_000_000, stream = "s" },
    { synchronize = "s" },
]
"#;
    for rest in [rest.to_owned(), rest.replace("result = \"halves\"\n", "")] {
        let (answer, text) = said(&read(&format!("{}{buffers}{rest}", head("halve-where", ""))));
        let scenario = only(&answer);
        let run = &scenario["verdict"]["run"];
        assert_eq!(
            (&run["answer"], &run["chosen"]["plan"]),
            (&"plan".into(), &"halved on the GPU".into())
        );
        let factor = run["factor"].as_f64().expect("two plans");
        assert!((3.0..5.0).contains(&factor), "{factor}");
        assert_eq!(row(scenario, "halved on the CPU")["side"], "both");
        assert_eq!(row(scenario, "halved on the GPU")["side"], "gpu");
        assert_eq!(scenario["cpu_copies_ns"], Value::Null);
        let is_said = ["GPU wins", "the CPU takes", "Stay on the CPU", "at home"];
        assert!(is_said.iter().all(|words| !text.contains(words)), "{text}");
    }
}
