//! Samples: of nothing, of no time, cut off, given twice.

use super::{committed, file, fit, refused};
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
        let fitted = fit(&path, &folder.path().join("profile.toml"));
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
    assert!(error_of("samples.jsonl", &more).contains("there is data after its end marker"));
}

#[test]
fn samples_given_twice_are_refused() {
    let text = committed("samples.jsonl");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("\"quantity\"")).collect();
    for again in [lines.len(), lines.len() / 3] {
        let twice = samples(&[&lines[..], &lines[..again]].concat());
        let (folder, path) = file("samples.jsonl", twice);
        let error = refused(&fit(&path, &folder.path().join("profile.toml")));
        assert!(error.contains("are the same measurement"), "{error}");
        assert!(
            error.contains("remove one of each pair, and correct the line count in the"),
            "{error}"
        );
    }
}
