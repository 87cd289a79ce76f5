//! The reference pages say what the command line, scenarios and JSON are, as they are now.

use crate::said::is_as_blessed;
use clap::CommandFactory;
use hallway::scenario::derived_schema;
use serde_json::{Value, json};
use std::fmt::Write;

const HEAD: &str = "<!-- Generated: `BLESS=1 cargo test --test suite reference` writes it. -->\n";

/// Help fits into a terminal of 100 columns, and the page is what is shown.
#[test]
fn of_the_command_line_is_its_help() {
    let mut page = format!("{HEAD}\n# Command line\n\n```text drawing\n");
    let mut command = hallway::cli::Arguments::command();
    command = command.term_width(100);
    command.build();
    page += &help(&mut command);
    page += "```\n";
    // What is hidden, hallway starts itself.
    let names = command.get_subcommands().filter(|one| !one.is_hide_set());
    let names = names.map(|one| one.get_name().to_owned());
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let subcommand = command.find_subcommand_mut(&name).expect("one of them");
        let _ = write!(page, "\n## hallway {name}\n\n```text drawing\n{}```\n", help(subcommand));
    }
    for line in page.lines() {
        assert!(line.chars().count() <= 100, "too wide: {line}");
    }
    is_as_blessed("docs/reference/cli.md", &page);
}

fn help(command: &mut clap::Command) -> String {
    // Not as wide as the terminal that the test may run in.
    let help = command.clone().term_width(100).render_long_help().to_string();
    let lines = help.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

#[test]
fn of_scenarios_is_their_schema() {
    let schema: Value = serde_json::from_str(&derived_schema()).expect("JSON");
    let mut page = format!(
        "{HEAD}\n# Scenario\n\nA scenario is a TOML file. `hallway init` writes a starter \
         scenario, `hallway check` reports mistakes, and\n\
         `hallway schema` prints the JSON Schema from which \
         this page is generated.\n"
    );
    let tables = [
        ("Top of the file", "", &schema),
        ("`[[buffer]]`", "Buffer", &schema["definitions"]["Buffer"]),
        ("`host` of a buffer", "Host", &schema["definitions"]["Host"]),
        ("`[[task]]`", "Task", &schema["definitions"]["Task"]),
        ("`arguments` of a task", "", &schema["definitions"]["Task"]["properties"]["arguments"]),
        ("`split` of a task", "AlongElements", &schema["definitions"]["AlongElements"]),
        ("`[[program]]`", "Program", &schema["definitions"]["Program"]),
        ("`memory` of a program", "Memory", &schema["definitions"]["Memory"]),
        ("`streams` of a program", "Stream", &schema["definitions"]["Stream"]),
        ("A call of a program", "Call", &schema["definitions"]["Call"]),
        ("`[limits]`", "Limits", &schema["definitions"]["Limits"]),
        ("`[plans]`", "Plans", &schema["definitions"]["Plans"]),
        ("`[process]`", "Process", &schema["definitions"]["Process"]),
    ];
    for (title, _, table) in tables {
        let _ =
            write!(page, "\n## {title}\n\n{}\n\n", table["description"].as_str().expect("text"));
        page += "| key | type | needed | meaning |\n| :-- | :-- | :-- | :-- |\n";
        let required = table["required"].as_array().cloned().unwrap_or_default();
        for (key, value) in table["properties"].as_object().expect("keys") {
            let needed = if required.contains(&key.as_str().into()) { "yes" } else { "no" };
            let kind = kind(&schema, value);
            let meaning = meaning(&schema, value);
            let _ = writeln!(page, "| `{key}` | {kind} | {needed} | {meaning} |");
        }
    }
    is_as_blessed("docs/reference/scenario.md", &page);
}

/// The definition that a value refers to.
fn definition<'s>(schema: &'s Value, value: &Value) -> Option<&'s Value> {
    let reference = value["allOf"][0]["$ref"].as_str().or(value["$ref"].as_str())?;
    Some(&schema["definitions"][reference.rsplit('/').next()?])
}

fn kind(schema: &Value, value: &Value) -> String {
    if let Some(definition) = definition(schema, value) {
        if let Some(either) = definition["anyOf"].as_array() {
            return either.iter().map(|one| kind(schema, one)).collect::<Vec<_>>().join(", or ");
        }
        return match definition["oneOf"].as_array() {
            Some(_) => "word".to_owned(),
            None => "table".to_owned(),
        };
    }
    if let Some(types) = value["type"].as_array() {
        let of = |one: &Value| kind(schema, &json!({ "type": one, "items": value["items"] }));
        return types.iter().map(of).collect::<Vec<_>>().join(", or ");
    }
    let text = value["type"].as_str().expect("a type");
    let range = match (value["minimum"].as_i64(), value["maximum"].as_i64()) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        _ => String::new(),
    };
    match text {
        "integer" => format!("whole number{range}"),
        "array" if value["items"]["$ref"].is_string() => "list of tables".to_owned(),
        "array" => format!("list: {}", kind(schema, &value["items"])),
        "string" if value["enum"].is_array() => "word".to_owned(),
        "string" => "text".to_owned(),
        "object" => "table".to_owned(),
        other => other.to_owned(),
    }
}

/// The description, the words to choose from, and the default.
fn meaning(schema: &Value, value: &Value) -> String {
    let mut text = value["description"].as_str().expect("described").to_owned();
    let of_items = if value["type"] == "array" { &value["items"] } else { value };
    if let Some(words) = of_items["enum"].as_array().filter(|words| words[0].is_string()) {
        let words: Vec<String> =
            words.iter().map(|word| format!("`{}`", word.as_str().expect("text"))).collect();
        let _ = write!(text, " One of {}.", words.join(", "));
    }
    let choices = definition(schema, value).and_then(|one| one["oneOf"].as_array());
    for choice in choices.into_iter().flatten() {
        let (word, what) = (choice["const"].as_str().expect("a word"), &choice["description"]);
        let _ = write!(text, " `{word}`: {}", what.as_str().expect("described"));
    }
    if !text.contains("Default:") && !value["default"].is_null() {
        let _ = write!(text, " Default: {}.", value["default"]);
    }
    text.replace('|', "\\|")
}
