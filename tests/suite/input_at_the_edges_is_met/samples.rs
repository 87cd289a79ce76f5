//! Samples: of nothing, of no time, cut off, given twice.

use super::{committed, file, hallway, refused};
use hallway::samples::Samples;

fn error_of(name: &str, text: &str) -> String {
    let (_folder, path) = file(name, text);
    Samples::load(&path).map(|_| ()).expect_err("should have been refused").to_string()
}

/// A file with the committed header and these lines; as many as its end says.
fn samples(lines: &[&str]) -> String {
    let text = committed("samples.jsonl");
    let header = text.lines().next().expect("a header");
    let count = lines.len() + 1;
    format!("{header}\n{}\n{{\"end_after_lines\":{count}}}\n", lines.join("\n"))
}

fn line_with(words: &[&str]) -> String {
    let text = committed("samples.jsonl");
    let line = text.lines().find(|line| words.iter().all(|word| line.contains(word)));
    line.expect("committed").to_owned()
}

#[test]
fn what_is_measured_is_something() {
    for (words, from, to, message) in [
        (["\"what\":\"kernel\"", "\"elements\":1024"], "1024", "0", "`elements` is 0"),
        (["\"what\":\"twin\"", "\"elements\":1024"], "s\":1024", "s\":0", "`elements` is 0"),
        (["\"what\":\"copy\"", "\"bytes\":4}"], "s\":4}", "s\":0}", "`bytes` is 0"),
        (["\"what\":\"staged\"", "\"footprint\":4,"], "t\":4,", "t\":0,", "`footprint` is 0"),
        (["\"what\":\"graph-call\"", "\"nodes\":3"], "s\":3", "s\":1000000000", "`nodes` is 1000"),
        (["\"what\":\"rotation\"", "\"streams\":2"], "s\":2", "s\":1000000000", "`streams` is 100"),
        (["\"what\":\"polled\"", "\"others\":1"], "s\":1", "s\":1000000000", "`others` is 1000"),
    ] {
        let line = line_with(&words);
        let wrong = line.replacen(from, to, 1);
        assert_ne!(wrong, line);
        let error = error_of("samples.jsonl", &samples(&[&wrong]));
        assert!(error.contains(":2:") && error.contains(message), "{error}");
        let (_folder, path) = file("samples.jsonl", samples(&[&line]));
        Samples::load(&path).expect("as it was");
    }
}

#[test]
fn every_measurement_has_times_and_they_pass() {
    let capped = line_with(&["\"call\":\"launch\"", "\"times\":[", "\"stop\":\"capped\""]);
    let line = capped.replacen("\"capped\"", "\"settled\"", 1);
    let (before, rest) = line.split_once("\"times\":[").expect("times");
    let (_, after) = rest.split_once(']').expect("their end");
    for (times, message) in
        [("", "`times` is empty: remove the line"), ("0,0,0", "0 ns"), ("900,0,900", "0 ns")]
    {
        let wrong = format!("{before}\"times\":[{times}]{after}");
        let error = error_of("samples.jsonl", &samples(&[&wrong]));
        assert!(error.contains(":2:") && error.contains(message), "{error}");
    }
    // What cannot be had on a machine has a line without times.
    let none = format!("{before}\"times\":[]{after}").replacen("\"settled\"", "\"capped\"", 1);
    let (_folder, path) = file("samples.jsonl", samples(&[&none]));
    Samples::load(&path).expect("the limit was reached before the first");
}

#[test]
fn machines_in_samples_and_tables_are_like_machines() {
    let text = samples(&[&line_with(&["\"call\":\"launch\"", "\"times\":["])]);
    for (from, to, message) in [
        ("\"multiprocessors\":132", "\"multiprocessors\":0", "`multiprocessors` is 0"),
        ("\"cpu_threads\":16", "\"cpu_threads\":1000000000", "`cpu_threads` is 1000000000"),
        ("\"devices\":1", "\"devices\":1000000000", "`devices` is 1000000000"),
        ("NVIDIA H200", "NVIDIA\\u0001 H200", "U+0001"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = error_of("samples.jsonl", &text.replacen(from, to, 1));
        assert!(error.contains(":1:") && error.contains(message), "{error}");
    }
    let table = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n# cpu_threads = 4\n\
                 path,memory,bytes,seconds\nH2D,pinned,4096,3e-6\n";
    for (from, to, message) in [
        ("= 10", "= 1000000000", ":2: `multiprocessors` is 1000000000"),
        ("= 4", "= 1000000000", ":4: `cpu_threads` is 1000000000"),
        ("Test", "Te\u{1}st", ":1: `gpu`"),
    ] {
        let error = error_of("lab.csv", &table.replacen(from, to, 1));
        assert!(error.contains(message), "{error}");
    }
}

/// Wherever it is cut, unless its name says that it is still growing.
#[test]
fn samples_that_end_early_are_refused_or_said_to() {
    let text = committed("samples.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    let few = samples(&lines[1..40]);
    let last = few.trim_end().rfind('\n').expect("lines") + 1;
    for end in [few.find('\n').expect("a header") + 1, few.len() / 2, last - 9, last, last + 3] {
        let error = error_of("samples.jsonl", &few[..end]);
        assert!(error.contains("is incomplete"), "at {end}: {error}");
        let (folder, path) = file("samples.partial.jsonl", &few[..end]);
        let Ok(samples) = Samples::load(&path) else { panic!("it grows: {end}") };
        assert!(samples.is_unfinished);
        if samples.measurements.is_empty() {
            continue;
        }
        let to = folder.path().join("profile.toml");
        let fitted = hallway(["fit".as_ref(), path.as_os_str(), "--output".as_ref(), to.as_ref()]);
        let said = String::from_utf8_lossy(&fitted.stdout);
        assert!(said.contains("unfinished"), "{said}");
    }
    // Lines that are lost in the middle are missed as well.
    let lost = few.replacen(&format!("{}\n", lines[7]), "", 1);
    let error = error_of("samples.jsonl", &lost);
    assert!(
        error.contains("its last line says that there are 40 lines before it, but there"),
        "{error}"
    );
    let more = format!("{few}{}\n", lines[1]);
    assert!(error_of("samples.jsonl", &more).contains("it continues after its end"));
}

#[test]
fn samples_given_twice_are_refused() {
    let text = committed("samples.jsonl");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("\"quantity\"")).collect();
    for again in [lines.len(), lines.len() / 3] {
        let twice = samples(&[&lines[..], &lines[..again]].concat());
        let (folder, path) = file("samples.jsonl", twice);
        let to = folder.path().join("profile.toml");
        let error =
            refused(&hallway(["fit".as_ref(), path.as_os_str(), "--output".as_ref(), to.as_ref()]));
        assert!(error.contains("are the same measurement"), "{error}");
        assert!(
            error.contains("remove one of each pair, and correct the number of lines in the"),
            "{error}"
        );
    }
}
