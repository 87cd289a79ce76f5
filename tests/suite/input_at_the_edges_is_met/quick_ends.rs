//! Input that once took minutes, half an answer, or the last of two that disagree.

use super::{committed, file, folder, hallway, refused, repository};
use crate::commands::{self, printed};
use std::fmt::Write;
use std::time::{Duration, Instant};

const HEAD: &str = "schema_version = 1\nname = \"many\"\nquestion = \"?\"\n";

/// Each new stream was looked for among all before, 262,143 times.
#[test]
fn a_program_with_a_stream_for_each_call_is_refused_at_the_first_too_many() {
    let program = "[[program]]\nname = \"a\"\n\
                   memory = [{ name = \"d\", kind = \"device\", size = \"2 MB\" }]\n\
                   calls = [{ repeat = 262143, index = \"i\", calls = [\
                   { clear = \"d[i * 4..+4]\", stream = \"s{i}\" }] }]\n";
    let (_folder, path) = file("streams.toml", format!("{HEAD}{program}"));
    let begun = Instant::now();
    let said = refused(&hallway(["check".as_ref(), path.as_os_str()]));
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    assert!(said.contains("streams.toml:7:"), "{said}");
    assert!(said.contains("`s1024` is one stream too many: the limit is 1024"), "{said}");
}

/// Each mistake held a copy of the text, and each unknown key was found by reading all again.
#[test]
fn thousands_of_mistakes_are_told_at_once() {
    let mut text = HEAD.to_owned();
    (0..12_000).for_each(|key| writeln!(text, "k{key} = 1").expect("written"));
    let (_folder, path) = file("keys.toml", text);
    let begun = Instant::now();
    let said = refused(&hallway(["check".as_ref(), path.as_os_str()]));
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    assert!(said.contains("keys.toml:4:1: unknown key `k0`"), "{}", &said[..400]);
    let buffers = |n: usize| {
        format!("[[buffer]]\nname = \"b{n}\"\ntype = \"f32\"\nelements = 8\nhome = \"host\"\n")
    };
    let task =
        "[[task]]\nname = \"t\"\nkernel = \"scale\"\nreads = [\"lost\"]\nwrites = [\"b1\"]\n";
    let all: String = (0..2000).map(buffers).collect();
    let (_folder, path) = file("buffers.toml", format!("{HEAD}{all}{task}"));
    let said = refused(&hallway(["check".as_ref(), path.as_os_str()]));
    assert!(said.contains("`b39` and 1960 more"), "{said}");
    assert!(said.len() < 2000, "{} characters", said.len());
}

/// Nothing of a file, a name or an argument does anything to a terminal.
#[test]
fn what_is_shown_of_input_does_nothing_to_a_terminal() {
    let extent =
        committed("profile.toml").replacen("extent = \"full\"", "extent = \"\\u001b[31m\"", 1);
    let (_one, profile) = file("profile.toml", extent);
    let table =
        "# gpu = G\n# multiprocessors = 4\n# device_memory = 1 GiB\ncall,seconds\n\x1b[31m,5e-6\n";
    let (_two, table) = file("lab.csv", table);
    let (_three, turned) = file("turned.toml", format!("{HEAD}\u{202e} = 1\n"));
    let clean = |output: &std::process::Output| {
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8(said).expect("text");
        assert!(!said.contains(['\x1b', '\x07', '\u{202e}']), "{said:?}");
        assert_ne!(output.status.code(), Some(0), "{said}");
    };
    for path in [profile, table, turned] {
        clean(&hallway(["check".as_ref(), path.as_os_str()]));
    }
    let escape = "\x1b[31m";
    clean(&hallway([escape]));
    clean(&hallway(["evaluate", "scenarios/small-scale.toml", "--what-if", escape]));
    clean(&hallway(["explain", "scenarios/small-scale.toml", "--plan", escape]));
    clean(&hallway(["evaluate", escape]));
}

/// JSON with a key twice, or with a scenario twice: the last one counted.
#[test]
fn of_two_that_disagree_none_counts() {
    let folder = folder();
    let old = folder.path().join("old.json");
    let scenario = "scenarios/small-scale.toml";
    let evaluate = |more: &[&str]| {
        let arguments = ["evaluate", scenario, "--profile", "calibration/h200", "--draws", "10"];
        hallway(arguments.iter().chain(more))
    };
    let at = old.to_str().expect("a path in UTF-8");
    assert!(evaluate(&["--format", "json", "--output", at]).status.success());
    let text = std::fs::read_to_string(&old).expect("written");
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let scenarios = value["scenarios"].clone();
    let twice = text.trim_end().strip_suffix('}').expect("an object").to_owned();
    std::fs::write(&old, format!("{twice}, \"scenarios\": {scenarios}}}")).expect("written");
    let said = refused(&evaluate(&["--baseline", at]));
    assert!(said.contains("duplicate field `scenarios`"), "{said}");
    let again = scenarios[0].clone();
    value["scenarios"].as_array_mut().expect("a list").push(again);
    std::fs::write(&old, value.to_string()).expect("written");
    let said = refused(&evaluate(&["--baseline", at]));
    assert!(said.contains("it contains the scenario `small-scale` twice"), "{said}");
    std::fs::write(&old, text).expect("written");
    let limits = ["--baseline", at, "--fail-if", "slower=50%", "--fail-if", "slower=1%"];
    let said = refused(&evaluate(&limits));
    assert!(said.contains("--fail-if has `slower=` 2 times"), "{said}");
}

/// A part without its points made a whole that missed some, and its answer with them.
#[test]
fn a_part_of_a_sweep_has_the_points_of_its_values() {
    let folder = folder();
    let part = |number: usize| {
        let path = folder.path().join(format!("{number}.json")).display().to_string();
        let shard = format!("{number}/2");
        let sweep = ["--sweep", "elements=1e4..1e6:4", "--shard", &shard, "--format", "json"];
        let of = ["evaluate", "scenarios/small-scale.toml", "--profile", "calibration/h200"];
        let output = hallway([&of[..], &sweep, &["--draws", "10", "--output", &path]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    };
    let (one, two) = (part(1), part(2));
    let whole = folder.path().join("whole.json").display().to_string();
    let merge = || hallway(["merge", &one, &two, "--output", &whole, "--format", "json"]);
    assert!(merge().status.success(), "{}", refused(&merge()));
    let text = std::fs::read_to_string(&two).expect("written");
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let points = value["sweeps"][0]["points"].as_array_mut().expect("a list");
    let last = points.pop().expect("a point");
    std::fs::write(&two, value.to_string()).expect("written");
    let missing = "the points of `small-scale` are not those that this part should contain";
    assert!(refused(&merge()).contains(missing));
    let points = value["sweeps"][0]["points"].as_array_mut().expect("a list");
    points.extend([last.clone(), last]);
    std::fs::write(&two, value.to_string()).expect("written");
    assert!(refused(&merge()).contains(missing));
}

#[test]
fn what_cannot_be_written_is_not_half_written_and_no_success() {
    let folder = folder();
    let long = folder.path().join("x".repeat(256));
    refused(&hallway(["init".as_ref(), long.as_os_str()]));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    for option in ["--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let mut command = commands::hallway(folder.path(), [option]);
        let output = command.stdout(full).output().expect("it starts");
        assert_eq!(output.status.code(), Some(4), "{option}");
    }
    let mut command = commands::hallway(repository(), ["evaluate", "scenarios/small-scale.toml"]);
    command.args(["--draws", "10", "--profile", "calibration/h200", "--output", "/dev/stdout"]);
    assert!(printed(&mut command).contains("small-scale"));
}
