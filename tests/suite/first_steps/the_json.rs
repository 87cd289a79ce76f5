//! Every JSON form is described key by key, and a failure is JSON where JSON was asked for.

use super::the_schema::Judge;
use super::*;
use crate::said::is_as_blessed;
use hallway::compare::Ledger;
use hallway::report::{
    AdviceReport, Checked, Diagnosis, Evaluation, Failed, Machines, SweepReport, TraceReport,
    Verification,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The JSON forms: which command prints them, and what their keys are.
fn forms() -> Vec<(&'static str, Value)> {
    vec![
        ("hallway evaluate --format json", schema_of::<Evaluation>()),
        ("hallway evaluate --format json with several profiles", schema_of::<Machines>()),
        ("hallway evaluate --sweep --format json", schema_of::<SweepReport>()),
        ("hallway verify --format json", schema_of::<Verification>()),
        ("hallway ledger --format json", schema_of::<Ledger>()),
        ("hallway advise --format json", schema_of::<AdviceReport>()),
        ("hallway explain --format json, for a trace", schema_of::<TraceReport>()),
        ("hallway check --format json", schema_of::<Checked>()),
        ("hallway doctor --format json", schema_of::<Diagnosis>()),
        ("a failure", schema_of::<Failed>()),
    ]
}

fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft07().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Keys that every form begins with.
const ALWAYS: [(&str, &str, &str); 2] = [
    (
        "schema_version",
        "whole number",
        "Version of the JSON format. It increases if a key is removed or changes its meaning, but \
         not if one is added.",
    ),
    ("hallway_version", "text", "Version of hallway that printed the JSON."),
];

#[test]
fn is_described_in_the_docs_key_by_key() {
    let mut page =
        "<!-- Generated: `BLESS=1 cargo test --test suite first_steps` writes it. -->\n\n\
        # JSON\n\nTimes are whole nanoseconds, and their keys end in `_ns`. Keys of sizes end in \
        `_bytes`. Shares and errors are\nfractions: 0.1 is 10%. Every key is always present, \
        unless its description says that it can be omitted. Values that\nare unknown or do not \
        apply are `null`.\n\n\
        If a command with `--format json` fails, it prints one line of JSON on standard error. The \
        exit code is\nthe same as without `--format json`.\n\n\
        Every output begins with these keys:\n\n"
            .to_owned();
    page += HEADER;
    for (key, kind, meaning) in ALWAYS {
        let _ = writeln!(page, "| `{key}` | {kind} | {meaning} |");
    }
    let mut types: BTreeMap<String, Value> = BTreeMap::new();
    for (form, schema) in forms() {
        let _ = write!(page, "\n## {form}\n\n{}\n\n{}", text(&schema), rows(&schema));
        let definitions = schema["definitions"].as_object().cloned().unwrap_or_default();
        types.extend(definitions);
    }
    for (name, schema) in &types {
        let _ = write!(page, "\n### {name}\n\n{}\n\n", text(schema));
        page += &if schema["properties"].is_object() { rows(schema) } else { words(schema) };
    }
    page += &example();
    is_as_blessed("docs/reference/json.md", &page);
}

/// A whole answer, of a scenario with few plans.
fn example() -> String {
    const COMMAND: [&str; 4] = ["evaluate", "scenarios/faq/how-sure.toml", "--format", "json"];
    let output = ran(repository(), COMMAND);
    assert!(output.status.success(), "{}", stderr(&output));
    format!(
        "\n## A complete example\n\n```sh\nhallway {}\n```\n\n```json\n{}```\n",
        COMMAND.join(" "),
        stdout(&output)
    )
}

const HEADER: &str = "| key | type | meaning |\n| :-- | :-- | :-- |\n";

#[track_caller]
fn text(schema: &Value) -> String {
    let text = schema["description"].as_str();
    let text = text.unwrap_or_else(|| panic!("not described: {schema:#}"));
    // Paragraphs stay; lines within one are joined.
    let paragraphs: Vec<String> =
        text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n").replace('|', "\\|")
}

fn rows(schema: &Value) -> String {
    let mut rows = HEADER.to_owned();
    for (key, value) in schema["properties"].as_object().expect("keys") {
        let meaning = text(value).replace("\n\n", " ");
        let _ = writeln!(rows, "| `{key}` | {} | {meaning} |", kind(value));
    }
    rows
}

/// The words that a value may be.
fn words(schema: &Value) -> String {
    let mut words = String::new();
    for choice in schema["oneOf"].as_array().into_iter().flatten() {
        if let Some(names) = choice["enum"].as_array() {
            for name in names {
                let _ = writeln!(words, "- `{}`", name.as_str().expect("a word"));
            }
        } else if let Some(properties) = choice["properties"].as_object() {
            let shown = |(key, value): (&String, &Value)| match value["const"].as_str() {
                Some(word) => format!("`{key}` = `{word}`"),
                None => format!("`{key}` ({})", kind(value)),
            };
            let keys: Vec<String> = properties.iter().map(shown).collect();
            let _ = writeln!(words, "- an object with {}: {}", keys.join(", "), text(choice));
        } else {
            let _ = writeln!(
                words,
                "- `{}`: {}",
                choice["const"].as_str().expect("a word"),
                text(choice)
            );
        }
    }
    for name in schema["enum"].as_array().into_iter().flatten() {
        let _ = writeln!(words, "- `{}`", name.as_str().expect("a word"));
    }
    assert!(!words.is_empty(), "neither keys nor words: {schema:#}");
    words
}

fn kind(value: &Value) -> String {
    let reference = |value: &Value| {
        let name = value["$ref"].as_str()?.rsplit('/').next()?;
        Some(format!("[{name}](#{})", name.to_lowercase()))
    };
    if let Some(name) = reference(value).or_else(|| reference(&value["allOf"][0])) {
        return name;
    }
    if let Some(choices) = value["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |name: &Value| match name.as_str() {
        Some("integer") => "whole number".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => match &value["items"] {
            Value::Array(items) => {
                format!("list of {}: {}", items.len(), kind(&items[0]))
            }
            item => format!("list: {}", kind(item)),
        },
        Some(name) => name.to_owned(),
        None => panic!("no type: {value:#}"),
    };
    match &value["type"] {
        Value::Array(names) => names.iter().map(one).collect::<Vec<_>>().join(" or "),
        name => one(name),
    }
}

/// Allows no key that is not described.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(values) => values.iter_mut().for_each(close),
        Value::Object(map) => {
            map.values_mut().for_each(close);
            if map.get("properties").is_some_and(Value::is_object) {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        _ => {}
    }
}

/// What was printed has the keys of the form, all of them and no other.
#[track_caller]
fn is_described(form: &str, printed: &str) -> Value {
    let printed: Value = serde_json::from_str(printed).unwrap_or_else(|error| {
        panic!("{form}: {error}\n{printed}");
    });
    assert_eq!(printed["schema_version"], hallway::report::SCHEMA_VERSION, "{form}");
    assert_eq!(printed["hallway_version"], env!("CARGO_PKG_VERSION"), "{form}");
    let forms = forms();
    let (_, schema) = forms.iter().find(|(name, _)| *name == form).expect("a form");
    let mut schema = schema.clone();
    for (key, ..) in ALWAYS {
        schema["properties"][key] = json!({});
    }
    close(&mut schema);
    Judge::of(schema).judge_value(&printed).unwrap_or_else(|error| panic!("{form}: {error}"));
    printed
}

#[test]
fn of_every_command_has_the_keys_that_are_described() {
    let shipped = scenarios(&[""]);
    // Four scenarios of different kinds: others have no further keys.
    let scenarios = ["image-batches", "small-scale", "stencil-halo", "three-task-graph"];
    let scenarios = scenarios.map(|name| format!("scenarios/{name}.toml"));
    let scenarios: Vec<&str> = scenarios.iter().map(String::as_str).collect();
    let json = ["--format", "json"];
    let few = ["--draws", "10", "--profile", "calibration/h200"];
    let evaluate = [&["evaluate"], &scenarios[..], &few, &json].concat();
    let halo = "scenarios/stencil-halo.toml";
    let sweep = ["evaluate", halo, "--sweep", "elements=1e6,1e7,1e8"];
    let sweep = [&sweep[..], &few, &json].concat();
    let verify = [&["verify", "--recorded"], &scenarios[..], &few, &json].concat();
    let all: Vec<&str> = shipped.iter().map(|path| path.to_str().expect("UTF-8")).collect();
    let check = [&["check"], &all[..], &json].concat();
    for (form, arguments) in [
        ("hallway evaluate --format json", &evaluate),
        ("hallway evaluate --sweep --format json", &sweep),
        ("hallway verify --format json", &verify),
        ("hallway check --format json", &check),
        ("hallway doctor --format json", &[&["doctor"], &json[..]].concat()),
    ] {
        let output = ran(repository(), arguments);
        assert_eq!(stderr(&output), "", "{form}");
        is_described(form, stdout(&output));
    }
}

/// What a failure leaves: the one line on standard error, and the exit code.
#[track_caller]
fn failure(arguments: &[&str]) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("wrong.toml"), "schema_version = 1\n\nname = 7\n")
        .expect("written");
    let output = ran(folder.path(), arguments);
    assert_eq!(stdout(&output), "", "{arguments:?}");
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    (is_described("a failure", stderr(&output)), output.status.code())
}

#[test]
fn of_a_failure_says_what_where_and_what_to_do() {
    let profile = repository().join("calibration/h200/profile.toml");
    let profile = profile.to_str().expect("a path in UTF-8");
    let (found, code) =
        failure(&["evaluate", "wrong.toml", "--profile", profile, "--format", "json"]);
    let error = &found["error"];
    assert_eq!((code, &error["code"], &error["kind"]), (Some(2), &json!(2), &json!("input")));
    assert_eq!(error["place"], json!({ "file": "wrong.toml", "line": 3, "column": 8 }));
    assert!(error["help"].as_str().is_some_and(|help| !help.is_empty()), "{error}");
    let message = error["message"].as_str().expect("text");
    assert!(message.starts_with("`name`"), "the place is told twice: {message}");
    let (found, code) = failure(&["evaluate", "lost.toml", "--profile", profile, "--format=json"]);
    assert_eq!((code, &found["error"]["place"]), (Some(2), &Value::Null));
}

#[test]
fn of_wrong_arguments_is_said_even_though_they_are_wrong() {
    for arguments in
        [&["evaluate", "--format", "json"][..], &["evaluate", "x", "--colour", "--format=json"]]
    {
        let (found, code) = failure(arguments);
        let error = &found["error"];
        assert_eq!((code, &error["code"], &error["kind"]), (Some(2), &json!(2), &json!("usage")));
        assert!(error["help"].as_str().is_some_and(|help| help.contains("Usage")), "{error}");
    }
    // Help is an answer, and no failure.
    let folder = tempfile::tempdir().expect("a folder");
    let output = ran(folder.path(), ["evaluate", "--format", "json", "--help"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}
