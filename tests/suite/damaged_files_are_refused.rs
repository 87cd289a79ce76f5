//! A profile, samples or runs that a hand or a disk has changed are refused with what is wrong and
//! where; nothing panics over them later, and no answer is made of them.

use hallway::profile::Profile;
use hallway::runs::RunSet;
use hallway::samples::Samples;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn committed(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration/h200");
    std::fs::read_to_string(folder.join(file)).expect("committed")
}

/// A folder of its own with one file in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(name: &str, text: &str) -> (Self, PathBuf) {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        let path = folder.0.path().join(name);
        std::fs::write(&path, text).expect("written");
        (folder, path)
    }
}

fn hallway(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.args(arguments).arg(path).output().expect("it starts")
}

/// The value of the first line with this key behind a heading becomes another.
fn edited(text: &str, heading: &str, key: &str, value: &str) -> String {
    let at = text.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    let key = format!("\n{key} = ");
    let start = at + text[at..].find(&key).unwrap_or_else(|| panic!("no {key}")) + key.len();
    // Lists go over several lines.
    let end = text[start..].find("\n]\n").filter(|_| text[start..].starts_with('['));
    let end = end.map_or_else(|| text[start..].find('\n').expect("a line"), |end| end + 2);
    format!("{}{value}{}", &text[..start], &text[start + end..])
}

#[test]
fn a_profile_with_a_number_that_is_none() {
    let text = committed("profile.toml");
    for (heading, key, value, message) in [
        ("[calls.launch]", "ns", "nan", "must be a time in nanoseconds"),
        ("[calls]", "launch_spread", "[]", "positive factors"),
        ("[calls]", "launch_spread", "[[0.5, inf]]", "positive factors"),
        ("[caches]", "staging_misses", "[]", "shares of misses from 0 to 1"),
        ("[caches]", "own_misses", "[[4.0, 0.0], [2.0, 1.0]]", "shares of misses from 0 to 1"),
        ("[caches]", "twin_misses", "[[4.0, 1.5]]", "shares of misses from 0 to 1"),
        ("[link.down_shared]", "per_copy_ns", "inf", "inf must be a number from 0 to 1e12"),
        (
            "[link]",
            "down_bytes_per_second",
            "-1.0",
            "a bandwidth must be a positive number of bytes per second",
        ),
        ("[copy.time]", "scatter", "nan", "must be a standard deviation"),
        ("[copy.time]", "knots", "[[4.0, -1.0]]", "a curve needs at least one pair in `knots`"),
        ("[copy.time]", "knots", "[[4.0, 1e17]]", "a curve needs at least one pair in `knots`"),
        ("[[accuracy.margin]]", "score", "700.0", "-1 to 10"),
    ] {
        let (_folder, path) = Folder::with("profile.toml", &edited(&text, heading, key, value));
        let error = Profile::load(&path).expect_err(value).to_string();
        assert!(error.contains(message), "{heading} {key} = {value}: {error}");
    }
    let (_folder, path) = Folder::with("profile.toml", &text);
    Profile::load(&path).expect("unharmed");
}

#[test]
fn a_profile_that_says_two_things_or_is_none() {
    let text = committed("profile.toml");
    let twice = |table: &str| {
        let table = format!("[[{table}]]");
        let (before, rest) = text.split_once(&table).expect("such a table");
        let (first, _) = rest.split_once(&format!("\n{table}")).expect("another one");
        format!("{before}{table}{first}\n{table}{rest}")
    };
    let newer = text.replacen("schema_version = 1", "schema_version = 2\nnew = true", 1);
    let samples = "{\"hallway_samples\":2}".to_owned();
    for (text, message) in [
        (twice("copy"), "two [[copy]] tables describe the same thing; remove one"),
        (
            twice("latency.semaphore_polling.first_poll"),
            "two [[latency.semaphore_polling.first_poll]] tables describe the same thing; \
             remove one",
        ),
        (
            twice("link.refetches"),
            "two [[link.refetches]] tables describe the same thing; remove one",
        ),
        (twice("interference"), "two [[interference]] tables describe the same thing; remove one"),
        (newer, "has schema version 2, but this hallway reads version 1"),
        (samples, "contains samples, not a profile"),
    ] {
        let (_folder, path) = Folder::with("profile.toml", &text);
        let error = Profile::load(&path).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn samples_with_times_that_are_none() {
    let text = committed("samples.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    let find = |word: &str| lines.iter().position(|line| line.contains(word)).expect("there");
    let [launch, trial] = ["\"call\":\"launch\"", "\"scenario\""].map(find);
    let with = |at: usize, key: &str, value: &str| {
        let key = format!("\"{key}\":");
        let (before, rest) = lines[at].split_once(&key).expect("the key");
        let end = if rest.starts_with('[') { rest.find(']').expect("its end") + 1 } else { 1 };
        let end = rest[end..].find([',', '}']).expect("its end") + end;
        let line = format!("{before}{key}{value}{}", &rest[end..]);
        format!("{}\n{line}\n{}\n{{\"end_after_lines\":3}}\n", lines[0], lines[launch])
    };
    for (text, message) in [
        (with(launch, "count", "0"), ":2:1: not a line of samples: `count` must be"),
        (
            with(launch, "times", "[9223372036854775808]"),
            ":2:1: not a line of samples: `times` and",
        ),
        (with(launch, "times", "[-1]"), "not a line of samples: invalid value: integer `-1`"),
        (with(trial, "passes", "[0,0]"), ":2:1: not a line of samples: `passes` must be"),
        (with(trial, "passes", "[-1]"), "not a line of samples: invalid value: integer `-1`"),
        (
            text.replacen("samples\":8", "samples\":9,\"of\":\"another kind\"", 1).replacen(
                "\"machine\"",
                "\"machines\"",
                1,
            ),
            "has samples of format 9, but this hallway reads format 8",
        ),
    ] {
        let (_folder, path) = Folder::with("samples.jsonl", &text);
        let error = Samples::load(&path).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn runs_without_passes() {
    let text = committed("runs/small-scale.json");
    let (before, rest) = text.split_once("\"passes_ns\":[").expect("passes");
    let (_, after) = rest.split_once(']').expect("their end");
    for passes in ["", "0", "18446744073709551615"] {
        let text = format!("{before}\"passes_ns\":[{passes}]{after}");
        let (_folder, path) = Folder::with("small-scale.json", &text);
        let error = RunSet::load(&path).expect_err(passes).to_string();
        assert!(error.contains("` has no valid times"), "{error}");
    }
}

/// A runs file says where `merge` writes, and what `report` draws.
#[test]
fn runs_of_a_path_or_with_a_timeline_of_another_plan() {
    let text = committed("runs/small-scale.json");
    let moved = text.replacen("\"scenario\":\"small-scale\"", "\"scenario\":\"../evil\"", 1);
    let (_folder, path) = Folder::with("small-scale.json", &moved);
    let error = RunSet::load(&path).expect_err("a path").to_string();
    assert!(error.contains("the name of the scenario is a path"), "{error}");

    let (folder, path) = Folder::with("profile.toml", &committed("profile.toml"));
    std::fs::create_dir(folder.0.path().join("runs")).expect("made");
    let mut runs: serde_json::Value = serde_json::from_str(&text).expect("runs");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/small-scale.toml");
    let scenario = scenario.to_str().expect("a name");
    let page = folder.0.path().join("page.html");
    let page = page.to_str().expect("a name");
    let mut refused = |key: &str, value: u64, message: &str| {
        let before = runs.clone();
        runs["traces"][0]["timeline"]["activities"][0][key] = value.into();
        let file = folder.0.path().join("runs/small-scale.json");
        std::fs::write(file, runs.to_string()).expect("written");
        runs = before;
        let output = hallway(&["report", scenario, "--output", page, "--profile"], &path);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(message), "{said}");
    };
    refused("call", 1_000_000, ": `traces` refers to call 1000000 of `");
    refused("start", u64::MAX, "ends before it starts");
}

#[test]
fn plans_that_were_not_run_are_counted() {
    let (folder, path) = Folder::with("profile.toml", &committed("profile.toml"));
    let mut runs: serde_json::Value =
        serde_json::from_str(&committed("runs/small-scale.json")).expect("runs");
    runs["runs"].as_array_mut().expect("a list").truncate(5);
    std::fs::create_dir(folder.0.path().join("runs")).expect("made");
    let file = folder.0.path().join("runs/small-scale.json");
    std::fs::write(file, runs.to_string()).expect("written");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/small-scale.toml");
    let scenario = scenario.to_str().expect("a name");
    let output = hallway(&["verify", "--recorded", scenario, "--profile"], &path);
    let warning = String::from_utf8_lossy(&output.stderr);
    assert!(warning.contains("small-scale: 5 of 19 predicted plans were run"), "{warning}");
}

#[test]
fn a_table_may_begin_as_spreadsheets_begin_a_file() {
    let text = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n\
                path,memory,bytes,seconds\nH2D,pinned,4096,3e-6\n";
    let (folder, path) = Folder::with("lab.csv", &format!("\u{feff}{text}"));
    let to = folder.0.path().join("profile.toml");
    let found = hallway(&["fit", "--output", to.to_str().expect("a name")], &path);
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success() && said.contains("Quantities measured only once: 1."), "{said}");
}
