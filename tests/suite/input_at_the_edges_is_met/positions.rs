//! Lines end with a line feed, a carriage return or both, and each place is named once.

use super::{committed, file, hallway, refused};
use hallway::profile::Profile;
use hallway::runs::RunSet;
use hallway::samples::Samples;
use hallway::scenario::Workload;

const ENDS: [&str; 3] = ["\n", "\r\n", "\r"];

/// What it says of a place in the file: `path:line:column: ` and what is wrong, and no other line
/// or column.
#[track_caller]
fn says(error: &str, path: &std::path::Path, (line, column): (usize, usize), message: &str) {
    let place = format!("{}:{line}:{column}: ", path.display());
    assert!(error.contains(&place), "not at {place}\n{error}");
    assert!(error.contains(message), "{error}");
    assert!(!error.contains(" at line ") && !error.contains("line 1,"), "twice: {error}");
}

#[test]
fn in_a_scenario() {
    let scenario = "schema_version = 1\nname = \"x\"\nquestion = \"?\"\n\nbatches = \u{e9}\n";
    for end in ENDS {
        let text = scenario.replace('\n', end);
        let error = Workload::from_toml("x.toml", &text).expect_err("not valid TOML:").to_string();
        says(&error, "x.toml".as_ref(), (5, 11), "not valid TOML:");
        let text = scenario.replace('\u{e9}', "0").replace('\n', end);
        let error = Workload::from_toml("x.toml", &text).expect_err("no batch").to_string();
        says(&error, "x.toml".as_ref(), (5, 11), "`batches` is 0");
    }
}

#[test]
fn in_a_profile() {
    let text = committed("profile.toml");
    let at = text.find("\ncpu_threads = ").expect("there") + 1;
    let line = text[..at].matches('\n').count() + 1;
    let wrong = text.replacen("\ncpu_threads = ", "\ncpu_threads = -", 1);
    for end in ENDS {
        let (_folder, path) = file("profile.toml", wrong.replace('\n', end));
        let error = Profile::load(&path).expect_err("below 0").to_string();
        says(&error, &path, (line, 15), "-16");
        let (_folder, path) = file("profile.toml", text.replace('\n', end));
        Profile::load(&path).expect("as before");
    }
}

#[test]
fn in_samples() {
    let text = committed("samples.jsonl");
    let lines: Vec<&str> = text.lines().take(4).collect();
    let column = lines[2].find("\"count\":").expect("a count") + "\"count\":".len() + 1;
    let wrong = lines[2].replacen("\"count\":", "\"count\":x", 1);
    for end in ENDS {
        let text = [lines[0], lines[1], &wrong, lines[3], ""].join(end);
        let (_folder, path) = file("samples.jsonl", text);
        let error = Samples::load(&path).expect_err("no number").to_string();
        says(&error, &path, (3, column), "expected value");
        let text =
            [lines[0], lines[1], lines[2], lines[3], "{\"end_after_lines\":4}", ""].join(end);
        let (_folder, path) = file("samples.jsonl", text);
        let samples = Samples::load(&path).expect("whole");
        assert_eq!(samples.measurements.len() + samples.conditions.len(), 3);
    }
}

#[test]
fn in_a_table() {
    let table = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n\
                 path,memory,bytes,seconds\nH2D,pinned,4096,3e-6\nH2D,pinned,none,3e-6\n";
    for end in ENDS {
        let (_folder, path) = file("lab.csv", table.replace('\n', end));
        let error = Samples::load(&path).expect_err("no bytes").to_string();
        assert!(error.contains("lab.csv:6: column `bytes`"), "{error}");
        let right = table.replace("none", "8192").replace('\n', end);
        let (_folder, path) = file("lab.csv", right);
        assert_eq!(Samples::load(&path).expect("a table").measurements.len(), 2);
    }
}

#[test]
fn in_runs() {
    let runs = "{\n\"hallway_runs\": 1,\n\"scenario\": 7\n}\n";
    for end in ENDS {
        let (_folder, path) = file("x.json", runs.replace('\n', end));
        let error = RunSet::load(&path).expect_err("empty").to_string();
        says(&error, &path, (3, 13), "invalid type: integer `7`");
    }
}

/// What is drawn around a place shows no control character of the file.
#[test]
fn what_a_terminal_shows_of_a_file_does_nothing_to_it() {
    let (_folder, path) = file("x.toml", "schema_version = 1\nname = \"\u{1b}[31mred\"\n");
    let error = refused(&hallway(["evaluate".as_ref(), path.as_os_str()]));
    assert!(!error.contains('\u{1b}'), "{error}");
    let (_folder, path) = file("x.toml", "schema_version = 1\n\"\\u001b[31m\" = 1\n");
    let error = refused(&hallway(["evaluate".as_ref(), path.as_os_str()]));
    assert!(!error.contains('\u{1b}'), "{error}");
}
