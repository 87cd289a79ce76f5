//! Scenarios: names that nobody sees, brackets, several unknown keys, counts.

use hallway::scenario::{ScenarioError, Workload};
use miette::Diagnostic;

const VALID: &str = r#"schema_version = 1
name = "demo"
question = "Is it worth it?"

[[buffer]]
name = "x"
type = "f32"
elements = 1024
home = "host"

[[buffer]]
name = "out"
type = "f32"
elements = 1024
home = "host"

[[task]]
name = "double"
kernel = "scale"
reads = ["x"]
writes = ["out"]

[limits]
cpu_threads = 16

[plans]
chunks = [1, 4]
"#;

fn error_of(text: &str) -> ScenarioError {
    Workload::from_toml("demo.toml", text).map(|_| ()).expect_err("should have been refused")
}

/// `VALID` with one piece replaced is refused at that line, with these words and this fix.
#[track_caller]
fn refuses(from: &str, to: &str, line: &str, message: &str, fix: &str) {
    let text = VALID.replacen(from, to, 1);
    assert_ne!(text, VALID);
    let error = error_of(&text);
    let shown = error.to_string();
    let at = text.lines().position(|one| one.starts_with(line)).expect("the line") + 1;
    assert!(shown.starts_with(&format!("demo.toml:{at}:")), "not in line {at}: {shown}");
    assert!(shown.contains(message), "{shown}");
    let help = error.help().expect("a fix").to_string();
    assert!(help.contains(fix), "{help}");
}

#[test]
fn a_name_is_seen() {
    Workload::from_toml("demo.toml", VALID).expect("valid");
    for (name, code) in [
        ("\u{200b}", "U+200B"),
        ("a\u{200d}b", "U+200D"),
        ("a\u{200f}b", "U+200F"),
        ("a\u{202e}b", "U+202E"),
        ("\u{feff}a", "U+FEFF"),
        ("a\u{ad}b", "U+00AD"),
        ("a\u{a0}b", "U+00A0"),
        ("\u{3164}", "U+3164"),
        ("\u{2800}", "U+2800"),
        ("a\\tb", "U+0009"),
        ("a\\u001bb", "U+001B"),
        ("   ", "U+0020"),
        ("\u{2003}", "U+2003"),
        ("a\u{e0041}", "U+E0041"),
    ] {
        for old in ["\"demo\"", "\"out\"\ntype", "\"double\""] {
            let new = old.replacen(old.trim_end_matches("\ntype"), &format!("\"{name}\""), 1);
            refuses(old, &new, &format!("name = \"{name}\""), code, "printable characters");
        }
    }
    let text = VALID.replacen("\"demo\"", "\"\u{e9}tude \u{4f8b} \u{1f600}-1\"", 1);
    Workload::from_toml("demo.toml", &text).expect("letters, signs and spaces can be seen");
}

#[test]
fn a_question_is_one_line_that_does_nothing_to_a_terminal() {
    for (text, code) in
        [("a\\u001b[31mb?", "U+001B"), ("a\\u0007?", "U+0007"), ("a\\u202e?", "U+202E")]
    {
        let line = format!("question = \"{text}\"");
        refuses("question = \"Is it worth it?\"", &line, &line, code, "single line of printable");
    }
}

#[test]
fn one_pair_of_brackets_beside_two() {
    for (from, to, line, message, fix) in [
        (
            "[[buffer]]\nname = \"out\"",
            "[buffer]\nname = \"out\"",
            "[buffer]",
            "`[buffer]`",
            "`[[buffer]]`",
        ),
        (
            "[[buffer]]\nname = \"x\"",
            "[buffer]\nname = \"x\"",
            "[buffer]",
            "`[buffer]`",
            "`[[buffer]]`",
        ),
        ("[limits]", "[task]\nname = \"more\"\n\n[limits]", "[task]", "`[task]`", "`[[task]]`"),
        (
            "[plans]",
            "[plans]\nfamilies = []\n\n[[plans]]",
            "[[plans]]",
            "`[[plans]]`",
            "write a single `[plans]`",
        ),
        (
            "[plans]",
            "[[limits]]\n\n[plans]",
            "[[limits]]",
            "`[[limits]]`",
            "write a single `[limits]`",
        ),
    ] {
        let text = VALID.replacen(from, to, 1);
        let shown = error_of(&text).to_string();
        assert!(!shown.contains("not valid TOML:"), "{shown}");
        refuses(from, to, line, message, fix);
    }
    let twice = VALID.replace("[plans]", "[limits]\n[plans]");
    let error = error_of(&twice);
    assert!(error.to_string().contains("`[limits]` appears twice"), "{error}");
}

#[test]
fn every_unknown_key_is_named() {
    let text = VALID
        .replacen("question", "batchs = 2\nquestion", 1)
        .replacen("elements = 1024", "elements = 1024\nelments = 7", 1)
        .replacen("[limits]", "colour = 3\n[limits]\nthreads = 5", 1);
    let error = error_of(&text);
    let shown = error.to_string();
    assert!(shown.starts_with("demo.toml:3:1: "), "the first: {shown}");
    for (key, place) in [
        ("batchs", ""),
        ("elments", " in `buffer`"),
        ("colour", " in `task`"),
        ("threads", " in `limits`"),
    ] {
        assert!(shown.contains(&format!("unknown key `{key}`{place}")), "{key}: {shown}");
    }
    assert_eq!(error.labels().expect("places").count(), 4);
    let help = error.help().expect("fixes").to_string();
    for fix in ["`batches`", "`elements`", "`cpu_threads`"] {
        assert!(help.contains(fix), "{help}");
    }
}

#[test]
fn limits_are_those_of_machines() {
    for threads in ["0", "100000", "1000000000"] {
        let message = format!("`cpu_threads` is {threads}");
        let line = format!("cpu_threads = {threads}");
        refuses("cpu_threads = 16", &line, &line, &message, "write a whole number");
    }
}
