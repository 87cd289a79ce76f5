//! Answers that misled somebody once, each on the committed profile: what is right is in the JSON
//! and on the first screen.

use super::super::predicted::{PROFILE, repository};
use super::{evaluation, json};
use hallway::report::Rows;
use hallway::scenario::Workload;
use serde_json::Value;

/// What is said of a scenario: as values, and on the first screen in words, on one line.
fn asked(text: &str) -> (Value, String) {
    let workload = Workload::from_toml("s.toml", text).unwrap_or_else(|error| panic!("{error}"));
    said(&workload)
}

fn committed(path: &str) -> (Value, String) {
    said(&Workload::load(&repository().join("scenarios").join(path)).expect("committed"))
}

fn said(workload: &Workload) -> (Value, String) {
    let found = evaluation(workload, &PROFILE, !workload.tasks.is_empty());
    let text = found.text_within(Rows::Screen, Some(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    (json(&found), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn head(name: &str) -> String {
    format!("schema_version = 1\nname = \"{name}\"\nquestion = \"?\"\n")
}

fn buffer(name: &str, of: &str, elements: u64, home: &str) -> String {
    format!(
        "[[buffer]]\nname = \"{name}\"\ntype = \"{of}\"\nelements = {elements}\nhome = {home}\n"
    )
}

const HOST: &str = "\"host\"";
const PINNED: &str = "\"host\"\nhost = { memory = \"pinned\" }";
const DEVICE: &str = "\"device\"";

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

fn milliseconds(time: &Value) -> f64 {
    time.as_f64().unwrap_or_else(|| panic!("{time} is no time")) * 1e-6
}

/// 200 MB of weights on the host, used by data on the device.
fn weights() -> String {
    let buffers = buffer("weights", "f32", 50_000_000, HOST)
        + &buffer("x", "f32", 50_000_000, DEVICE)
        + &buffer("y", "f32", 50_000_000, DEVICE);
    let task = "[[task]]\nname = \"use\"\nkernel = \"saxpy\"\nreads = [\"weights\", \"x\"]\n\
                writes = [\"y\"]\n";
    format!("{}{buffers}{task}", head("weights"))
}

/// The plan on the CPU that pins was compared with one on the GPU that does not.
#[test]
fn without_pinning_both_sides_pin_nothing() {
    let (answer, _) = asked(&weights());
    let workload = Workload::from_toml("s.toml", &weights()).expect("a scenario");
    let text = evaluation(&workload, &PROFILE, true).text(Rows::All);
    let without = &only(&answer)["without_pinning"];
    assert_eq!(without["answer"], "gpu", "{without}");
    assert_eq!(
        (&without["chosen"]["side"], &without["other"]["plan"]),
        (&"gpu".into(), &"cpu".into())
    );
    let times = ["chosen", "other"].map(|key| milliseconds(&without[key]["time_ns"]));
    assert!((20.0..26.0).contains(&times[0]) && (35.0..43.0).contains(&times[1]), "{times:?}");
    assert!(text.contains("Without pinning  GPU faster"), "{text}");
}

#[test]
fn a_ring_of_its_own_is_pinned_memory_too() {
    let buffers = buffer("state", "f32", 39_059_456, DEVICE)
        + &buffer("checkpoint", "f32", 39_059_456, "\"host\"\nhost = { state = \"fresh\" }");
    let task = "[[task]]\nname = \"take\"\nkernel = \"scale\"\nreads = [\"state\"]\n\
                writes = [\"checkpoint\"]\nsplit = { along = \"elements\" }\n\
                [plans]\nfamilies = [\"cpu\", \"by-chunk\", \"staged\"]\nchunks = [8]\n";
    let (answer, text) = asked(&format!("{}{buffers}{task}", head("checkpoint")));
    let scenario = only(&answer);
    let without = &scenario["without_pinning"];
    let plans = ["chosen", "other"].map(|key| without[key]["plan"].as_str().expect("a plan"));
    assert!(plans.iter().all(|plan| !plan.contains("staged")), "{plans:?}");
    let pinned = plans.map(|plan| row(scenario, plan)["pinned_bytes"].as_u64());
    assert_eq!(pinned, [Some(0); 2], "{plans:?}");
    let rows = scenario["plans"].as_array().expect("a list").iter();
    let mut staged = rows.filter(|row| row["family"] == "staged").peekable();
    assert!(staged.peek().is_some());
    for one in staged {
        assert!(one["pins"] == true && one["pinned_bytes"].as_u64() > Some(0), "{}", one["plan"]);
        // What it saves is against a plan of its own side.
        let saved = &one["taken"]["without_pass_ns"];
        let gpu = scenario["plans"].as_array().expect("a list").iter();
        let plain = gpu.filter(|row| row["side"] != "cpu" && row["pins"] == false);
        let fastest = plain.filter_map(|row| row["predicted_ns"].as_u64()).min();
        assert_eq!(saved.as_u64(), fastest);
    }
    assert!(!text.contains("saves nothing"), "{text}");
}

/// 16 and 1024 taps are no rivals; each is asked of both sides.
#[test]
fn programs_with_other_results_are_no_rivals() {
    let (answer, text) = committed("kernels/taps.toml");
    let parts = answer["scenarios"].as_array().expect("a list");
    let names: Vec<&Value> = parts.iter().map(|part| &part["part"]).collect();
    assert_eq!(names, ["16 taps", "1024 taps"]);
    for part in parts {
        let name = part["part"].as_str().expect("a name");
        let lists = ["plans", "unknown"].map(|list| part[list].as_array().expect("a list"));
        let plans: Vec<&str> =
            lists.into_iter().flatten().filter_map(|row| row["plan"].as_str()).collect();
        assert_eq!(plans.len(), 2, "one for each side: {plans:?}");
        assert!(plans.iter().all(|plan| plan.starts_with(name)), "{plans:?} in {name}");
        // Nobody has timed the kernel on this GPU, and that is said.
        assert_eq!(part["missing_times"][0]["kernel"], "filter");
        assert_eq!(part["missing_times"][0]["on_cpu"], false);
    }
    assert!(!text.contains("Use `16 taps"), "{text}");
    assert!(text.contains("16 taps: Stay on the CPU: it takes "), "{text}");
    assert!(text.contains("1024 taps: Open: measure `filter` first"), "{text}");
}

/// Two ways to fill the GPU's memory, of which one computes on the CPU.
#[test]
fn a_program_without_a_launch_may_still_use_the_gpu() {
    let buffers = buffer("x", "f32", 1_000_000, PINNED)
        + &buffer("half", "f16", 1_000_000, PINNED)
        + &buffer("h", "f16", 1_000_000, DEVICE);
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
        let (answer, text) = asked(&format!("{}{buffers}{rest}", head("halve-where")));
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

/// One copy of all the bytes is several times faster than many small ones.
#[test]
fn small_copies_are_bound_by_their_number() {
    let (answer, text) = committed("programs/small-arrays.toml");
    let scenario = only(&answer);
    let small = row(scenario, "one by one, pinned, on a stream");
    assert_eq!(small["bottleneck"], "copies", "{}", small["gains"]);
    assert_eq!(row(scenario, "all at once, pinned")["bottleneck"], "h2d-link");
    assert!(text.contains("number of copies"), "{text}");
}

/// Kernels that use the host's memory keep the multiprocessors busy and wait for the link.
#[test]
fn kernels_that_wait_for_the_link_are_bound_by_it() {
    let (answer, text) = committed("programs/mapped-memory.toml");
    let in_place = row(only(&answer), "in place");
    let link = ["link", "h2d-link", "d2h-link"].map(Value::from);
    assert!(link.contains(&in_place["bottleneck"]), "{}", in_place["gains"]);
    assert!(in_place["busy"]["kernels"].as_f64() > Some(0.5), "the kernel is busy all the same");
    assert!(text.contains(" fastest link both ways "), "{text}");
}
