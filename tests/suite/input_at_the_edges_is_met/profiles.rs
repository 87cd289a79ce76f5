//! Profiles: curves that no machine has, counts that none has, and files that end early.

use super::{committed, file};
use hallway::profile::Profile;

fn error_of(text: &str) -> String {
    let (_folder, path) = file("profile.toml", text);
    Profile::load(&path).map(|_| ()).expect_err("should have been refused").to_string()
}

/// The first value of a key below a heading becomes another, over as many lines as before.
fn edited(heading: &str, key: &str, value: &str) -> String {
    let text = committed("profile.toml");
    let at = text.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    let key = format!("\n{key} = ");
    let start = at + text[at..].find(&key).unwrap_or_else(|| panic!("no {key}")) + key.len();
    let is_list = text[start..].starts_with("[\n");
    let end = text[start..].find(if is_list { "\n]\n" } else { "\n" }).expect("an end");
    let end = start + end + if is_list { 2 } else { 0 };
    format!("{}{value}{}", &text[..start], &text[end..])
}

#[test]
fn a_knot_is_a_size_and_a_time_and_times_do_not_fall() {
    for (heading, knots, message) in [
        ("[copy.time]", "[[4.0, 1.0, 2.0]]", "a pair of numbers, not 3"),
        ("[copy.time]", "[[4.0]]", "a pair of numbers, not 1"),
        (
            "[copy.time]",
            "[[4.0, 0.0], [4096.0, 0.0]]",
            "`copy(host-to-device).time`: all times up to the largest size,",
        ),
        (
            "[copy.time]",
            "[[4.0, 90.0], [64.0, 9.0], [4096.0, 95.0]]",
            ": the time falls to 9 ns at 64, from 90 ns at 4",
        ),
        (
            "[kernel.time]",
            "[[4.0, 90.0], [4096.0, 9.0]]",
            ": the time falls to 9 ns at 4096, from 90 ns at",
        ),
        ("[kernel.time]", "[[1024.0, 0.0]]", ": all times up to the largest size,"),
        ("[twin.time]", "[[1024.0, 0.0]]", ": all times up to the largest size,"),
        (
            "[twin.time]",
            "[[4.0, 9000.0], [4096.0, 9.0]]",
            ": the time falls to 9 ns at 4096, from 9000 ns at",
        ),
        ("[staging.until_complete]", "[[4.0, 0.0]]", ": all times up to the largest size,"),
        (
            "[copy.time]",
            "[[4.0, 0.001], [67108864.0, 0.001]]",
            "end with 0.001 ns for 67108864 bytes, over 50 TB/s",
        ),
        ("[kernel.time]", "[[4.0, 1.0], [67108864.0, 1.0]]", "over 50 TB/s: no memory is so fast"),
    ] {
        let error = error_of(&edited(heading, "knots", knots));
        assert!(error.contains(message), "{heading} {knots}: {error}");
    }
    let error = error_of(&edited("[link]", "down_bytes_per_second", "1e300"));
    assert!(error.contains("`down_bytes_per_second = 1e300` of [link] is over 50 TB/s"), "{error}");
    let error = error_of(&edited("[calls]", "launch_spread", "[[0.5, 1.0, 7.0]]"));
    assert!(error.contains("a pair of numbers, not 3"), "{error}");
}

#[test]
fn a_machine_has_as_many_of_anything_as_machines_have() {
    for (key, wrong, message) in [
        ("multiprocessors", "0", "`multiprocessors` is 0, but must be 1 to"),
        ("multiprocessors", "1000000000", "`multiprocessors` is 1000000000, but must be 1 to"),
        ("cpu_threads", "0", "`cpu_threads` is 0, but must be 1 to"),
        ("cpu_threads", "1000000000", "`cpu_threads` is 1000000000, but must be 1 to"),
        ("copy_engines", "0", "`copy_engines` is 0, but must be 1 to"),
        ("copy_engines", "1000000000", "`copy_engines` is 1000000000, but must be 1 to"),
        ("numa_nodes", "1000000000", "`numa_nodes` is 1000000000, but must be 0 to"),
        ("devices", "0", "`devices` is 0, but must be 1 to"),
        ("devices", "1000000000", "`devices` is 1000000000, but must be 1 to"),
        ("device_memory_bytes", "0", "`device_memory_bytes` is 0, but must be 1 to"),
    ] {
        let error = error_of(&edited("[machine]", key, wrong));
        assert!(error.contains(message), "{key} = {wrong}: {error}");
    }
    let two = std::fs::read_to_string(
        super::repository().join("calibration/others/two-h200/profile.toml"),
    );
    let two = two.expect("committed");
    for (found, wrong) in [("devices = 2", "devices = 1000000000"), ("to = 1", "to = 1000000000")] {
        let at = two.find("[[multi_gpu.").expect("two GPUs");
        let text = format!("{}{}", &two[..at], two[at..].replacen(found, wrong, 1));
        assert_ne!(text, two);
        let error = error_of(&text);
        assert!(error.contains("1000000000"), "{wrong}: {error}");
    }
}

#[test]
fn words_of_a_machine_are_visible() {
    for (value, named) in [
        ("\"NVIDIA\\u0001 H200\"", "U+0001"),
        ("\"NVIDIA\\u001B[31m H200\"", "U+001B"),
        ("\"NVIDIA\\u202E H200\"", "U+202E"),
        ("\"NVIDIA\\uFFFF H200\"", "U+FFFF"),
    ] {
        let error = error_of(&edited("[machine]", "gpu", value));
        assert!(error.contains("`gpu`") && error.contains(named), "{value}: {error}");
    }
    let error = error_of(&edited("[machine]", "cpu", "\"a\\u0007b\""));
    assert!(error.contains("`cpu`") && error.contains("U+0007"), "{error}");
}

/// Each beginning of the file that ends where a table does is TOML by itself.
#[test]
fn a_profile_that_ends_early_is_refused() {
    let text = committed("profile.toml");
    let tables: Vec<usize> = text.match_indices("\n[").map(|(at, _)| at + 1).collect();
    assert!(tables.len() > 100);
    for end in tables.into_iter().step_by(20).chain([text.trim_end().len() - 1]) {
        let error = error_of(&text[..end]);
        assert!(error.contains("is incomplete"), "at {end}: {error}");
    }
    let (_folder, path) = file("profile.toml", &text);
    Profile::load(&path).expect("whole");
}

#[test]
fn what_is_saved_is_whole() {
    let (folder, path) = file("profile.toml", committed("profile.toml"));
    let profile = Profile::load(&path).expect("committed");
    let again = folder.path().join("again.toml");
    profile.save(&again).expect("written");
    let text = std::fs::read_to_string(&again).expect("there");
    assert_eq!(Profile::load(&again).expect("whole"), profile);
    assert!(text.trim_end().ends_with("# end of the profile"), "{}", &text[text.len() - 99..]);
}
